"""A real ``gapscope server`` as processes: started, watched from outside, stopped."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

START_SECONDS = 60.0


@dataclass
class Served:
    """A running server: its address, and what its processes cost."""

    process: subprocess.Popen[bytes]
    log: Path
    _began: dict[int, float] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """The newest address that it told."""
        return str(re.findall(r"listening on (\S+)", self.log.read_text())[-1])

    def processes(self) -> dict[str, psutil.Process]:
        """API and worker, as far as they run."""
        found = {}
        for child in psutil.Process(self.process.pid).children():
            words = child.cmdline()
            found.update({role: child for role in ("api", "worker") if role in words})
        return found

    def stop(self) -> None:
        """End it in order."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)


def start(data: Path, *words: str, database: str | None = None, log: str = "server.log") -> subprocess.Popen[bytes]:
    """Start ``gapscope server`` on a data folder, its output in ``log`` there."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GAPSCOPE_")}
    if database:
        environment["GAPSCOPE_DATABASE"] = database
    with (data / log).open("ab") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "gapscope_backend.cli.main", "server", "--data", str(data), *words],
            stdout=out,
            stderr=out,
            env=environment,
            start_new_session=True,
        )


def serving(data: Path, database: str | None = None) -> AbstractContextManager[Served]:
    """A server with API and worker, on a free port, until the end of the block."""
    return _serving(data, "all", database)


def serving_api(data: Path, database: str | None = None) -> AbstractContextManager[Served]:
    """The same without a worker."""
    return _serving(data, "api", database)


@contextmanager
def _serving(data: Path, role: str, database: str | None) -> Iterator[Served]:
    served = Served(start(data, "--role", role, "--port", "0", database=database), data / "server.log")
    try:
        await_text(served.log, "listening on ", served.process)
        yield served
    finally:
        served.stop()


@contextmanager
def ending(words: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that does not outlive the block."""
    process = subprocess.Popen(words)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def await_text(log: Path, text: str, process: subprocess.Popen[bytes], after: int = 0) -> None:
    """Wait until a log holds a text beyond ``after`` bytes. AssertionError where the process ends before."""
    deadline = time.monotonic() + START_SECONDS
    while text.encode() not in log.read_bytes()[after:]:
        assert process.poll() is None, log.read_text()[-2000:]
        assert time.monotonic() < deadline, f"it did not say {text!r}: {log.read_text()[-2000:]}"
        time.sleep(0.05)


def resident_bytes(process: psutil.Process) -> int:
    """Memory of a process alone; 0 where it has ended."""
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def tree_cost(process: psutil.Process) -> tuple[float, int]:
    """CPU seconds used so far and bytes of a process with its children; memory that they share counts once."""
    costs = [_cost(one) for one in [process, *process.children(recursive=True)]]
    return sum(seconds for seconds, _ in costs), sum(held for _, held in costs)


def _cost(process: psutil.Process) -> tuple[float, int]:
    try:
        times = process.cpu_times()
        return times.user + times.system, int(process.memory_full_info().pss)
    except psutil.NoSuchProcess:
        return 0.0, 0
