"""``processes``: the process tree around the GPU's owners, five times a second, with details once a second.

With no owner (no GPU, an idle one, or owners outside this PID namespace) the busiest processes of the host stand in.
Which processes are watched is decided once a second.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence

from gapscope_agent.reading import Process, Processes, Reading
from gapscope_agent.sources.base import Context, Source
from gapscope_agent.sources.busiest import BusiestProcesses
from gapscope_agent.sources.cgroup_cpu import CgroupReader
from gapscope_agent.sources.process_table import ProcessTable
from gapscope_agent.sources.tracked_process import TrackedProcess
from gapscope_agent.stacks.messages import ProcessFacts

MAX_PROCESSES = 128
"""Two open files each; the usual limit of a process is 1024."""

_GONE = (FileNotFoundError, ProcessLookupError, PermissionError)
"""Ended, or (with /proc mounted hidepid) not ours to see."""

_DETAIL_PERIOD_NS = 1_000_000_000
_JITTER_NS = 100_000_000


class ProcessTree(Source):
    """Watched processes, each with its open files."""

    name = "processes"
    lane = "processes"
    period_seconds = 0.2
    deadline_seconds = 2.0
    phase_seconds = 0.02

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._tracked: dict[int, TrackedProcess] = {}
        self._asked_once: set[int] = set()
        self._io_granted: set[int] = set()

    def open(self) -> None:
        """Start with nothing known."""
        self.close()
        self._table = ProcessTable(self.context.proc)
        self._busiest = BusiestProcesses(self.context.proc)
        self._cgroups = CgroupReader(self.context.cgroup)
        self._details_mono_ns: int | None = None

    def sample(self, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        """One reading with all watched processes; those that ended since the last tick are left out."""
        last = self._details_mono_ns
        detailed = last is None or mono_ns - last >= _DETAIL_PERIOD_NS - _JITTER_NS
        if detailed:
            self._details_mono_ns = mono_ns
            self._choose(mono_ns)
            self._cgroups.begin_look()
        found: list[Process] = []
        for pid, tracked in list(self._tracked.items()):
            process = self._look(tracked, detailed=detailed)
            if process is None:
                self._forget(pid)
            else:
                found.append(process)
        if detailed and self.context.facts is not None:
            self._ask_for_facts(found, self.context.facts)
        return [Processes(t=now_ns, mono=mono_ns, processes=found)]

    def close(self) -> None:
        """Close all files."""
        for pid in list(self._tracked):
            self._forget(pid)

    def _look(self, tracked: TrackedProcess, *, detailed: bool) -> Process | None:
        try:
            process = tracked.look()
            if detailed:
                tracked.add_details(process, self._cgroups)
        except _GONE:
            return None
        return process

    def _ask_for_facts(self, found: list[Process], ask: Callable[[list[int]], list[ProcessFacts]]) -> None:
        """I/O that the kernel refused, and once for each process its named environment variables."""
        known = {process.pid for process in found}
        self._asked_once &= known
        self._io_granted &= known
        wanted = [p.pid for p in found if p.pid not in self._asked_once or p.pid in self._io_granted]
        for facts in ask(wanted) if wanted else ():
            process = next(process for process in found if process.pid == facts.pid)
            if facts.io is not None and process.io is None:
                process.io = facts.io
                process.missing = {name: why for name, why in process.missing.items() if name != "io"}
                self._io_granted.add(facts.pid)
            if facts.pid not in self._asked_once and "environment" not in facts.missing:
                process.environment = facts.environment
            self._asked_once.add(facts.pid)

    def _choose(self, mono_ns: int) -> None:
        self._table.refresh()
        chosen = self._table.family(self.context.owners.pids(), MAX_PROCESSES)
        if not chosen:
            chosen = self._busiest.choose(self._table.pids(), mono_ns)
        self._track(chosen)

    def _track(self, chosen: Iterable[int]) -> None:
        wanted = set(chosen)
        for pid in self._tracked.keys() - wanted:
            self._forget(pid)
        for pid in sorted(wanted - self._tracked.keys()):
            self._add(pid)

    def _add(self, pid: int) -> None:
        with contextlib.suppress(*_GONE):
            self._tracked[pid] = TrackedProcess(self.context.proc, pid, redact_command=self.context.redact)

    def _forget(self, pid: int) -> None:
        self._tracked.pop(pid).close()
