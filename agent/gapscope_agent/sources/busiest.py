"""The processes of a host that use most CPU, for when no GPU says which ones matter."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from gapscope_agent.sources.proc_files import stat_if_alive

COUNT = 15
_KERNEL = 2
"""kthreadd, the parent of the kernel's own threads."""
PERIOD_NS = 5_000_000_000
"""Every process of the host is read for this, 15 us each."""


class BusiestProcesses:
    """Ranks by CPU time since the last ranking; a process seen for the first time counts with all its time."""

    def __init__(self, proc: Path) -> None:
        self._proc = proc
        self._jiffies: dict[int, int] = {}
        self._ranked_mono_ns: int | None = None
        self._chosen: list[int] = []

    def choose(self, pids: Iterable[int], mono_ns: int) -> list[int]:
        """Up to ``COUNT`` of ``pids``; the same ones until the next ranking is due."""
        if self._ranked_mono_ns is None or mono_ns - self._ranked_mono_ns >= PERIOD_NS:
            self._ranked_mono_ns = mono_ns
            self._rank(pids)
        return self._chosen

    def _rank(self, pids: Iterable[int]) -> None:
        before = self._jiffies
        self._jiffies = {}
        for pid in pids:
            stat = stat_if_alive(self._proc, pid)
            if stat is not None and _KERNEL not in (pid, stat.parent_pid):
                self._jiffies[pid] = stat.user_jiffies + stat.system_jiffies
        used = {pid: jiffies - before.get(pid, 0) for pid, jiffies in self._jiffies.items()}
        self._chosen = sorted(used, key=lambda pid: (-used[pid], pid))[:COUNT]
