"""``cpu``: jiffies of each core, ten times a second.

/proc/stat is kept open and read again with pread: psutil.cpu_times(percpu=True) gives seconds as floats (the jiffies
are lost), reopens the file and builds a named tuple a core, about four times the cost, and this is the fastest tick.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from gapscope_agent.errors import SourceUnavailableError
from gapscope_agent.reading import Cpu, Reading
from gapscope_agent.sources.base import Source

_FIELDS = 8
_FIRST_BUFFER_BYTES = 16 * 1024
"""Grows to the size of the file, most of which is interrupt counts: some 100 kB with hundreds of cores."""


class CpuJiffies(Source):
    """Cumulative user, nice, system, idle, iowait, irq, softirq and steal of each core."""

    name = "cpu"
    lane = "host"
    period_seconds = 0.1
    deadline_seconds = 1.0

    _descriptor: int | None = None

    def open(self) -> None:
        """Open /proc/stat once for all ticks."""
        self.close()
        path = self.context.proc / "stat"
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise SourceUnavailableError(f"{path} cannot be opened ({error.strerror}).") from error
        self._buffer_bytes = _FIRST_BUFFER_BYTES
        self._known: list[list[int]] = []

    def sample(self, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        """One reading with all cores."""
        if self._descriptor is None:
            raise SourceUnavailableError("The source is not open.")
        while len(data := os.pread(self._descriptor, self._buffer_bytes, 0)) == self._buffer_bytes:
            self._buffer_bytes *= 2
        for core, jiffies in _cores(data):
            while len(self._known) <= core:
                self._known.append([0] * _FIELDS)
            self._known[core] = jiffies
        # A core that was taken offline leaves the file; its counters stand still, so that the others keep their place.
        return [Cpu(t=now_ns, mono=mono_ns, jiffies=list(self._known))]

    def close(self) -> None:
        """Close /proc/stat."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _cores(data: bytes) -> list[tuple[int, list[int]]]:
    cores = []
    start = data.find(b"\ncpu")
    while start >= 0 and data.startswith(b"\ncpu", start):
        end = data.find(b"\n", start + 1)
        fields = data[start + 4 : end if end >= 0 else len(data)].split()
        cores.append((int(fields[0]), [int(field) for field in fields[1 : 1 + _FIELDS]]))
        start = end
    return cores
