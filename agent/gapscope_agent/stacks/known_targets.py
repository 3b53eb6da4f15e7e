"""What is kept of each process from one look to the next: that it may be sampled, and which threads run Python."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gapscope_agent.sources.proc_files import stat_if_alive
from gapscope_agent.stacks import states
from gapscope_agent.stacks.messages import Refused
from gapscope_agent.stacks.parse import SeenThread
from gapscope_agent.stacks.run_times import RunTimes
from gapscope_agent.stacks.states import SystemView

MAX_TARGET_THREADS = 400
"""Of Python: py-spy reads each at every look, and at 159 of them a look took 50 ms of CPU. Native ones cost nothing."""
MAX_POLLED_THREADS = 64
MAX_KEPT = 1024


@dataclass
class _Target:
    start_jiffies: int
    python_tids: list[int] = field(default_factory=list)


class KnownTargets:
    """Processes by number and start, so that a number that is used anew is a new process."""

    def __init__(self, view: SystemView) -> None:
        self._view = view
        self._known: dict[int, _Target] = {}

    def check(self, pid: int) -> Refused | None:
        """What forbids to sample a process now; the interpreter's version is looked up once."""
        refused = states.before_sampling(self._view, pid)
        stat = stat_if_alive(self._view.proc, pid)
        if refused is not None or stat is None:
            self._known.pop(pid, None)
            return refused or states.not_there(self._view, pid)
        known = self._known.get(pid)
        if known is None or known.start_jiffies != stat.start_jiffies:
            version = self._view.python_version(pid)
            unsupported = states.check_version(version) if version is not None else None
            if unsupported is not None:
                return unsupported
            if len(self._known) >= MAX_KEPT:
                self._known.clear()
            known = self._known[pid] = _Target(stat.start_jiffies)
        if len(known.python_tids) > MAX_TARGET_THREADS:
            text = (
                f"process {pid} has {len(known.python_tids)} Python threads; at most {MAX_TARGET_THREADS} are sampled"
            )
            return Refused(states.TOO_MANY_THREADS, text, final=False)
        return None

    def polled(self, pid: int, times: RunTimes) -> list[int]:
        """The threads whose CPU time is worth reading: those that run Python; before they are known, the first ones."""
        known = self._known.get(pid)
        tids = known.python_tids if known is not None and known.python_tids else times.tids()
        return tids[:MAX_POLLED_THREADS]

    def remember(self, pid: int, threads: Iterable[SeenThread]) -> None:
        """Keep which threads run Python, as the newest look told."""
        known = self._known.get(pid)
        if known is not None:
            known.python_tids = [thread.tid for thread in threads if thread.tid is not None]
