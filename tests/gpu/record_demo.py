"""Record the bundled demo on a machine with an NVIDIA GPU: the image service of this folder, with its stacks.

``python -m tests.gpu.record_demo DIR [--phase-seconds N]``. Needs torch, torchvision, Pillow and py-spy.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.gpu.recorder import record_workload

SERVICE = Path(__file__).with_name("image_service.py")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--phase-seconds", type=float, default=20.0)
    arguments = parser.parse_args()
    words = [sys.executable, str(SERVICE), "--phase-seconds", str(arguments.phase_seconds)]
    for line in record_workload(words, arguments.directory):
        print(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
