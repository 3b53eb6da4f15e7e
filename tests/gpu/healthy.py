"""Two loops without a fault under the whole product, which must open no incident.

``python -m tests.gpu.healthy --scratch DIR --seconds 300 no-fault-training no-fault-inference`` (as root, on a machine
with an NVIDIA GPU): starts ``gapscope server``, and ``gapscope agent`` as the user ``nobody``; runs the loops of
faults.py one after the other; prints for each what the product said of it and the incidents that touch it, as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.gpu.contract import HOST, PORT, ask, prepare, start

FAULTS = Path(__file__).with_name("faults.py")
START_SECONDS, SETTLE_SECONDS = 5.0, 15.0


def run_loop(secret: str, name: str, seconds: float) -> dict[str, Any]:
    """One loop from its first step to its last, and what was said of that time."""
    words = [sys.executable, str(FAULTS), name, "--seconds", str(seconds)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        start_ms = time.time() * 1e3
        said = json.loads(process.stdout.readline())
        end_ms = time.time() * 1e3
    time.sleep(SETTLE_SECONDS)
    verdict = ask(secret, f"hosts/{HOST}/diagnosis", **{"from": start_ms + 1000, "to": end_ms - 1000})
    incidents = ask(secret, "incidents", host=HOST, **{"from": start_ms + 1000, "to": end_ms - 1000})
    return {
        "loop": name,
        "seconds": (end_ms - start_ms) / 1e3,
        **said,
        "sentence": verdict["sentence"],
        "ledger": {row["cause"]: round(row["share"], 4) for row in verdict["ledger"]},
        "incidents": [row["sentence"] for row in incidents],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loops", nargs="+", choices=("no-fault-training", "no-fault-inference"))
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=300.0)
    arguments = parser.parse_args()
    scratch = arguments.scratch
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    server = start(["server", "--data", str(scratch / "data"), "--port", str(PORT)], scratch / "server.log")
    time.sleep(START_SECONDS)
    secret, token = prepare(scratch)
    words = ["agent", "--server", f"http://127.0.0.1:{PORT}", "--token-file", str(token), "--host", HOST]
    agent = start(words, scratch / "agent.log", user=65534 if os.geteuid() == 0 else None)
    time.sleep(START_SECONDS)
    try:
        told = [run_loop(secret, name, arguments.seconds) for name in arguments.loops]
    finally:
        for process in (agent, server):
            process.terminate()
            process.wait(20)
    for one in told:
        print(json.dumps(one), flush=True)
    return 1 if any(one["incidents"] for one in told) else 0


if __name__ == "__main__":
    sys.exit(main())
