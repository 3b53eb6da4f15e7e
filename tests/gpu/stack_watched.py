"""A stand-in program that is watched, and its speed over a span, for the measurements of what watching costs."""

from __future__ import annotations

import json
import mmap
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gapscope_agent.sources.proc_files import parse_schedstat

TARGETS = Path(__file__).with_name("stack_targets.py")
SETTLE_SECONDS = 3.0


@dataclass(frozen=True)
class Speed:
    """Steps a second, and steps a second of the program's own CPU time: other programs change the latter little."""

    by_time: float
    by_cpu: float


@dataclass
class Watched:
    """The program ``pid``; ``cuda`` when it uses a GPU. ``log`` holds the phases of the alternating one."""

    pid: int
    cuda: bool
    log: Path
    _counter: mmap.mmap

    def steps(self) -> int:
        """Steps finished since its start."""
        return int(struct.unpack_from("<Q", self._counter, 0)[0])

    def speed(self, seconds: float) -> Speed:
        """Over the next ``seconds``."""
        steps, began, cpu = self.steps(), time.monotonic(), self._cpu_seconds()
        time.sleep(seconds)
        done = self.steps() - steps
        return Speed(done / (time.monotonic() - began), done / max(self._cpu_seconds() - cpu, 1e-6))

    def _cpu_seconds(self) -> float:
        """Of all its threads, ns where the kernel counts them."""
        runs = (parse_schedstat(path.read_bytes())[0] for path in Path(f"/proc/{self.pid}/task").glob("*/schedstat"))
        return sum(runs) / 1e9

    def family(self) -> list[int]:
        """The program and its children."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [self.pid, *map(int, children)]


@contextmanager
def watched(kind: str, *words: str) -> Iterator[Watched]:
    """Runs the stand-in ``kind`` for the length of the body."""
    with tempfile.TemporaryDirectory() as folder:
        counter = Path(folder) / "counter"
        command = [sys.executable, str(TARGETS), kind, str(counter), *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
            try:
                assert process.stdout is not None
                said = json.loads(process.stdout.readline())
                with counter.open("r+b") as file:
                    mapped = mmap.mmap(file.fileno(), 8)
                found = Watched(said["pid"], said["cuda"], Path(f"{counter}.phases"), mapped)
                while not found.steps():
                    time.sleep(0.05)
                time.sleep(SETTLE_SECONDS)
                yield found
            finally:
                os.killpg(process.pid, signal.SIGKILL)
