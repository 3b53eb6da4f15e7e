"""The sampler's interface, and py-spy behind it: one snapshot, or a trace over a span. docs/adr/0007 says why both.

A call blocks for as long as it samples. It never raises for a fault of the target: the answer is then a Refused.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Protocol, TypeVar

from gapscope_agent.reading import Frame, ThreadStack
from gapscope_agent.stacks import states
from gapscope_agent.stacks.known_targets import KnownTargets
from gapscope_agent.stacks.messages import Cost, Moment, Refused, Sampled
from gapscope_agent.stacks.parse import Look, OutputError, SeenThread, parse_dump, parse_trace, seconds_behind
from gapscope_agent.stacks.pyspy import PySpyMissingError, Run, dump, find_pyspy, record
from gapscope_agent.stacks.run_times import RunHistory, RunTimes, ran
from gapscope_agent.stacks.source_lines import SourceLines
from gapscope_agent.stacks.states import SystemView
from gapscope_agent.stacks.thread_ids import kernel_tid
from gapscope_agent.stacks.trace_moments import trace_moments

SNAPSHOT_LIMIT_SECONDS = 3.0
MAIN_THREAD = "MainThread"
_T = TypeVar("_T")


class StackSampler(Protocol):
    """Takes stacks of one process at a time; several calls may run at once for different processes."""

    def snapshot(self, pid: int) -> Sampled | Refused:
        """All threads now: on CPU or not, and who owns the interpreter lock."""

    def trace(self, pid: int, rate_hertz: int, seconds: float) -> Sampled | Refused:
        """All threads over ``seconds``; the owner of the lock is not known."""

    def stop(self) -> None:
        """End the traces that run, with what they have."""


class PySpySampler:
    """py-spy as a program, with thread states and CPU times of /proc laid around each look."""

    def __init__(self, view: SystemView | None = None, program: Callable[[], str] = find_pyspy) -> None:
        self._view = view or SystemView()
        self._program = program
        self._targets = KnownTargets(self._view)
        self._lines = SourceLines(self._view.proc)
        self._stopping = threading.Event()

    def stop(self) -> None:
        """End the traces that run, with what they have."""
        self._stopping.set()

    def snapshot(self, pid: int) -> Sampled | Refused:
        """One ``dump``, with a look at the threads' CPU time before and after it."""
        program = self._ready(pid)
        if isinstance(program, Refused):
            return program
        own = time.thread_time()
        times = RunTimes(self._view.proc, pid)
        before = times.poll(self._targets.polled(pid, times), states=True)
        run = dump(program, pid, SNAPSHOT_LIMIT_SECONDS)
        after = times.poll(self._targets.polled(pid, times), states=True)
        seen = self._parsed(pid, run, parse_dump, own)
        if isinstance(seen, Refused):
            return seen
        threads = self._identified(pid, seen, times.tids())
        self._targets.remember(pid, threads)
        stacks = [self._stack(pid, one, ran(before, after, one.tid or 0, one.active)) for one in threads]
        moment = Moment(run.ended_ns - (run.ended_ns - run.began_ns) // 4, stacks)  # it reads after it has attached
        return Sampled([moment], _cost(run, own, len(stacks)))

    def trace(self, pid: int, rate_hertz: int, seconds: float) -> Sampled | Refused:
        """One ``record``, with the threads' CPU time read ten times a second beside it."""
        program = self._ready(pid)
        if isinstance(program, Refused):
            return program
        own = time.thread_time()
        times = RunTimes(self._view.proc, pid)
        polls = [times.poll(self._targets.polled(pid, times), states=False)]

        def watch(_: float) -> bool:
            polls.append(times.poll(self._targets.polled(pid, times), states=False))
            return not self._stopping.is_set() and states.before_sampling(self._view, pid) is None

        run = record(program, pid, rate_hertz, seconds, watch)
        watch(0.0)
        looks = self._parsed(pid, run, parse_trace, own)
        if isinstance(looks, Refused):
            return looks
        existing = {*times.tids(), *(tid for poll in polls for tid in poll.threads)}
        identified = self._identified(pid, [thread for look in looks for thread in look.threads], existing)
        tids = {thread.ident: thread.tid for thread in identified}
        looks = [Look(look.t_us, tuple(replace(one, tid=tids[one.ident]) for one in look.threads)) for look in looks]
        self._targets.remember(pid, looks[-1].threads if looks else ())
        history = RunHistory(polls)
        moments = [
            Moment(t, [self._stack(pid, one, history.ran_at(t, one.tid or 0)) for one in threads])
            for t, threads in trace_moments(looks, run.began_ns, run.ended_ns, rate_hertz, history)
        ]
        return Sampled(moments, _cost(run, own, len(tids)))

    def _ready(self, pid: int) -> str | Refused:
        """The program to run, or what forbids to begin."""
        try:
            program = self._program()
        except PySpyMissingError as error:
            return Refused(states.NO_SAMPLER, str(error), final=False)
        refused = self._targets.check(pid)
        if refused is not None:
            self._lines.forget(pid)
        return refused or program

    def _parsed(self, pid: int, run: Run, parse: Callable[[bytes], _T], own: float) -> _T | Refused:
        """What py-spy found, or why it found nothing."""
        cost = _cost(run, own, 0)
        stopped = states.before_sampling(self._view, pid)
        if stopped is not None and stopped.state == states.STOPPED:
            text = f"process {pid} was stopped while it was sampled, by something else than the sampler"
            return Refused(states.STOPPED, text, final=False, cost=cost)
        if run.late:
            text = f"py-spy took more than {run.wall_seconds:.1f} s for process {pid}"
            return Refused(states.TOO_SLOW, text, final=False, cost=cost)
        if run.output and run.returncode == 0:
            try:
                return parse(run.output)
            except OutputError as error:
                return Refused(states.UNREADABLE, str(error)[:500], final=False, cost=cost)
        refused = states.after_failure(self._view, pid, run.said)
        refused.cost = cost
        return refused

    def _identified(self, pid: int, seen: Iterable[SeenThread], existing: Collection[int]) -> list[SeenThread]:
        """The threads with their kernel numbers; those of a look that ended meanwhile keep what py-spy told."""
        numbers: dict[int, int] = {}
        found = []
        for thread in seen:
            if thread.ident not in numbers:
                numbers[thread.ident] = thread.tid or self._number(pid, thread, existing)
            found.append(replace(thread, tid=numbers[thread.ident]))
        return found

    def _number(self, pid: int, thread: SeenThread, existing: Collection[int]) -> int:
        """Before Python 3.11; where even the C library does not tell, a number of its own that is no kernel's."""
        if thread.name == MAIN_THREAD:
            return pid
        return kernel_tid(pid, thread.ident, existing) or (thread.ident >> 6 & 0x3FFFFFFF | 1 << 30)

    def _stack(self, pid: int, thread: SeenThread, running: bool | None) -> ThreadStack:
        frames = [
            Frame(frame.function, frame.file, frame.line, self._lines.line(pid, frame.file, frame.line))
            for frame in thread.frames
        ]
        return ThreadStack(
            tid=thread.tid or 0, frames=frames, name=thread.name, active=running, owns_gil=thread.owns_gil
        )


def _cost(run: Run, own: float, threads: int) -> Cost:
    cpu_seconds = run.cpu_seconds + time.thread_time() - own
    return Cost(cpu_seconds, run.wall_seconds, threads, seconds_behind(run.said))
