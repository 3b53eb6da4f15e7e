"""Runs py-spy once, bounded in time and in what it may write, and never leaves a zombie.

Always ``--nonblocking``: the target is not stopped, not signalled, not traced. Only py-spy itself, a child of this
process, is ever sent a signal. What it writes goes to memory (memfd), so that a full disk changes nothing.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sysconfig
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gapscope_agent.errors import AgentError

MAX_OUTPUT_BYTES = 32 * 1024 * 1024
MAX_SAID_BYTES = 16 * 1024
END_SECONDS = 2.0
"""From the wish that a trace ends to its end; beyond, it is killed."""


class PySpyMissingError(AgentError):
    """There is no py-spy to run."""


@dataclass(frozen=True)
class Run:
    """``returncode`` is negative for a signal; ``late`` when it had to be killed; ``began_ns`` is wall time."""

    returncode: int
    output: bytes
    said: str
    cpu_seconds: float
    wall_seconds: float
    began_ns: int
    ended_ns: int
    late: bool
    cut_short: bool = False


def find_pyspy() -> str:
    """Path of the program: beside this interpreter, else on PATH. Raises PySpyMissingError."""
    beside = Path(sysconfig.get_path("scripts")) / "py-spy"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("py-spy")
    if found is None:
        raise PySpyMissingError("py-spy is not installed beside the agent: pip install py-spy")
    return found


def dump(program: str, pid: int, limit_seconds: float) -> Run:
    """One snapshot as JSON."""
    words = [program, "dump", "--json", "--nonblocking", "--full-filenames", "--pid", str(pid)]
    return _run(words, "stdout", limit_seconds, lambda _: True)


def record(program: str, pid: int, rate_hertz: int, seconds: float, go_on: Callable[[float], bool]) -> Run:
    """A trace of ``seconds`` in Chrome's format. ``go_on`` is called about ten times a second; False cuts it short."""
    words = [program, "record", "--nonblocking", "--full-filenames", "--idle", "--threads", "--format", "chrometrace"]
    words += ["--rate", str(rate_hertz), "--duration", str(int(seconds * 2) + 5), "--pid", str(pid)]
    return _run(words, "file", seconds, go_on)


def _run(words: Sequence[str], kind: str, limit_seconds: float, go_on: Callable[[float], bool]) -> Run:
    output = os.memfd_create("py-spy", os.MFD_CLOEXEC)
    try:
        began, began_ns = time.monotonic(), time.time_ns()
        with subprocess.Popen(
            [*words, "--output", f"/proc/self/fd/{output}"] if kind == "file" else words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if kind == "file" else output,
            stderr=subprocess.PIPE,
            pass_fds=(output,),
            env={"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8"},
        ) as process:
            guard = _Ending(process, began + limit_seconds, asks=kind == "file", go_on=go_on)
            try:
                guard.watch()
            finally:
                cpu_seconds = guard.reap()
        ended_ns = time.time_ns()
        size = os.fstat(output).st_size
        data = os.pread(output, MAX_OUTPUT_BYTES, 0) if size <= MAX_OUTPUT_BYTES else b""
    finally:
        os.close(output)
    return Run(
        returncode=process.returncode,
        output=data,
        said=guard.said.decode("utf-8", "replace"),
        cpu_seconds=cpu_seconds,
        wall_seconds=time.monotonic() - began,
        began_ns=began_ns,
        ended_ns=ended_ns,
        late=guard.killed,
        cut_short=guard.cut_short,
    )


class _Ending:
    """Follows a py-spy to its end; its standard error closes when it ends."""

    def __init__(
        self, process: subprocess.Popen[bytes], until: float, *, asks: bool, go_on: Callable[[float], bool]
    ) -> None:
        self._process = process
        self._until = until
        self._asks = asks
        self._go_on = go_on
        self.said = b""
        self.killed = self.cut_short = False

    def watch(self) -> None:
        """Return when it has ended, or has been asked to end and killed because it did not."""
        assert self._process.stderr is not None
        asked = False
        while True:
            now = time.monotonic()
            ready, _, _ = select.select([self._process.stderr], [], [], min(0.1, max(0.0, self._until - now)))
            if ready:
                chunk = os.read(self._process.stderr.fileno(), 4096)
                if not chunk:
                    return
                self.said = (self.said + chunk)[-MAX_SAID_BYTES:]
            now = time.monotonic()
            if not asked and not self._go_on(now):
                self.cut_short = True
                self._until = now
            if now < self._until:
                continue
            if asked or not self._asks:
                self.killed = True
                return
            asked = True
            os.kill(self._process.pid, signal.SIGINT)
            self._until = now + END_SECONDS

    def reap(self) -> float:
        """Wait for its end, killing it where it goes on; its CPU time in seconds.

        Signals go by ``os.kill``: ``Popen.send_signal`` collects an ended child first, and its CPU time would be lost.
        Until it is collected here the child's number is its own.
        """
        if not self.killed:
            for _ in range(int(END_SECONDS / 0.01)):
                pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
                if pid:
                    self._process.returncode = os.waitstatus_to_exitcode(status)
                    return usage.ru_utime + usage.ru_stime
                time.sleep(0.01)
            self.killed = True
        os.kill(self._process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime + usage.ru_stime
