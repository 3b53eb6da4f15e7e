"""Run a service's rounds one after the other and record each: ``python -m tests.gpu.case_study DIR image|text ...``.

Prints for each round what the service reached and what ``gapscope explain`` says of its recording.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from tests.gpu.recorder import record_workload


def explain(directory: Path) -> dict[str, object]:
    words = [sys.executable, "-m", "gapscope_backend.cli.main", "explain", str(directory), "--json"]
    answer = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    levels = {level["name"]: level["value"] for level in answer["gpus"][0]["levels"]}
    ledger = {row["cause"]: round(row["share"], 3) for row in answer["ledger"]}
    return {"verdict": answer["verdict"], "sentence": answer["sentence"], "ledger": ledger, "levels": levels}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("services", nargs="+", choices=("image", "text"))
    parser.add_argument("--seconds", type=float, default=15.0)
    arguments = parser.parse_args()
    for service in arguments.services:
        for number in (1, 2, 3, 4):
            target = arguments.directory / f"{service}-{number}"
            words = [sys.executable, "-m", f"tests.gpu.{service}_rounds", str(number)]
            said = record_workload([*words, "--seconds", str(arguments.seconds)], target)
            print(json.dumps({"service": service, **said[-1], **explain(target)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
