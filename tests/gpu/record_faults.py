"""Record the workloads of faults.py, one folder each: ``python -m tests.gpu.record_faults DIR NAME [NAME ...]``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.gpu.recorder import record_workload

FAULTS = Path(__file__).with_name("faults.py")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--seconds", type=float, default=20.0)
    arguments = parser.parse_args()
    for name in arguments.names:
        words = [sys.executable, str(FAULTS), name, "--seconds", str(arguments.seconds)]
        said = record_workload(words, arguments.directory / name)
        print(json.dumps({"fault": name, "said": said}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
