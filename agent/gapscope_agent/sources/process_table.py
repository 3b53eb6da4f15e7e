"""Who is whose parent, kept up to date at the cost of one directory listing a look.

Only processes that are new since the last look are read: a parent changes only when it dies, and then to a process
that is no relation.
"""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Iterable
from pathlib import Path

from gapscope_agent.sources.proc_files import parse_command, read_bytes, stat_if_alive

_LAUNCHERS = ("python", "torchrun", "accelerate", "deepspeed", "gunicorn", "uvicorn", "ray")


class ProcessTable:
    """Parents and children of all processes below ``proc``."""

    def __init__(self, proc: Path) -> None:
        self._proc = proc
        self._parents: dict[int, int] = {}

    def refresh(self) -> None:
        """List /proc; read what is new and forget what is gone."""
        alive = {int(name) for name in os.listdir(self._proc) if name.isdigit()}
        for pid in self._parents.keys() - alive:
            del self._parents[pid]
        for pid in alive - self._parents.keys():
            stat = stat_if_alive(self._proc, pid)
            if stat is not None:
                self._parents[pid] = stat.parent_pid

    def pids(self) -> list[int]:
        """All processes of the last look."""
        return list(self._parents)

    def family(self, owners: Iterable[int], limit: int) -> list[int]:
        """The owners, then their descendants, then those of the Python launchers above them; at most ``limit``.

        A launcher's other children are its data loaders, web workers and ranks: they feed the GPU or wait for it.
        """
        children: dict[int, list[int]] = defaultdict(list)
        for pid, parent in self._parents.items():
            children[parent].append(pid)
        present = sorted(pid for pid in owners if pid in self._parents)
        tops = sorted({self._launcher_above(pid) for pid in present})
        found: dict[int, None] = {}
        for starts in (present, tops):
            queue = deque(starts)
            visited = set(starts)
            while queue:
                pid = queue.popleft()
                found.setdefault(pid)
                fresh = [child for child in children[pid] if child not in visited]
                visited.update(fresh)
                queue.extend(fresh)
        return list(found)[:limit]

    def _launcher_above(self, pid: int) -> int:
        seen = {pid}
        top = pid
        while (parent := self._parents.get(top, 0)) > 1 and parent not in seen and self._is_launcher(parent):
            seen.add(parent)
            top = parent
        return top

    def _is_launcher(self, pid: int) -> bool:
        try:
            words = parse_command(read_bytes(self._proc / str(pid) / "cmdline"))
        except OSError:
            return False
        return bool(words) and os.path.basename(words[0]).startswith(_LAUNCHERS)
