"""Whether a thread was running at a moment or waiting for something, from /proc/<pid>/task around it.

Running means on a CPU or queued for one: a thread that others keep from the CPU waits for nothing of its own.
``schedstat`` counts both in nanoseconds. Where the kernel has none, ``stat`` counts jiffies of 10 ms on a CPU, too
coarse for a span of a few milliseconds; there the states before and after and the sampler's own opinion count too.
"""

from __future__ import annotations

import bisect
import contextlib
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from gapscope_agent.sources.proc_files import parse_schedstat, parse_stat, read_bytes

RUNNING_SHARE = 0.5
HALF_SEEN_SHARE = 0.2
"""Of CPU, where one of the two states seen is running."""
COARSE_SPAN_NS = 60_000_000
"""Shorter spans hold too few jiffies to be judged by them."""
NS = 1_000_000_000


class Run(NamedTuple):
    """Time for which a thread ran so far, ns (``exact``: queued time included), and its state."""

    run_ns: int
    state: str
    exact: bool


class Poll(NamedTuple):
    """Threads at one moment, ns since the epoch."""

    t: int
    threads: dict[int, Run]


class RunTimes:
    """Reads the threads of one process."""

    def __init__(self, proc: Path, pid: int, wall_ns: Callable[[], int] = time.time_ns) -> None:
        self._tasks = f"{proc}/{pid}/task"
        self._wall_ns = wall_ns
        self._exact = True
        self._jiffy_ns = NS // os.sysconf("SC_CLK_TCK")

    def tids(self) -> list[int]:
        """The threads that exist. Empty when the process is gone."""
        try:
            return [int(name) for name in os.listdir(self._tasks)]
        except OSError:
            return []

    def poll(self, tids: Iterable[int], *, states: bool) -> Poll:
        """CPU time of these threads, as far as they exist; ``states`` costs a second file where time is exact."""
        t = self._wall_ns()
        found: dict[int, Run] = {}
        for tid in tids:
            with contextlib.suppress(OSError, ValueError, IndexError):  # it ended since it was listed
                found[tid] = self._read(tid, states)
        return Poll(t, found)

    def _read(self, tid: int, states: bool) -> Run:
        if self._exact:
            try:
                run_ns, delay_ns = parse_schedstat(read_bytes(f"{self._tasks}/{tid}/schedstat"))
            except FileNotFoundError:
                self._exact = os.path.exists(f"{self._tasks}/{tid}") is False
            else:
                state = parse_stat(read_bytes(f"{self._tasks}/{tid}/stat")).state if states else "?"
                return Run(run_ns + delay_ns, state, True)
        stat = parse_stat(read_bytes(f"{self._tasks}/{tid}/stat"))
        return Run((stat.user_jiffies + stat.system_jiffies) * self._jiffy_ns, stat.state, False)


def ran(before: Poll, after: Poll, tid: int, opinion: bool | None) -> bool | None:
    """Whether a thread ran for most of the time between two polls; ``opinion`` where they do not tell."""
    first, last = before.threads.get(tid), after.threads.get(tid)
    if first is None or last is None:
        return opinion
    share = (last.run_ns - first.run_ns) / max(1, after.t - before.t)
    if last.exact:
        return share >= RUNNING_SHARE
    seen = (first.state == "R") + (last.state == "R")
    if after.t - before.t >= COARSE_SPAN_NS:
        return share >= RUNNING_SHARE or seen == 2 or (seen == 1 and share >= HALF_SEEN_SHARE)
    return seen + (share > 0) + (opinion is True) >= 2


class RunHistory:
    """Polls of one process in order of time."""

    def __init__(self, polls: list[Poll]) -> None:
        self._polls = polls
        self._times = [poll.t for poll in polls]
        self._last_seen = {tid: number for number, poll in enumerate(polls) for tid in poll.threads}

    def ran_at(self, t: int, tid: int) -> bool | None:
        """Whether the thread ran for most of the span between polls that holds ``t``; None when nothing tells."""
        at = bisect.bisect_right(self._times, t)
        if not 0 < at < len(self._polls):
            return None
        return ran(self._polls[at - 1], self._polls[at], tid, None)

    def ran_between(self, begin: int, end: int, tid: int) -> bool:
        """Whether the thread used any CPU from the poll before ``begin`` to the one after ``end``; unknown counts."""
        low = bisect.bisect_right(self._times, begin) - 1
        high = bisect.bisect_left(self._times, end)
        if low < 0 or high >= len(self._polls):
            return True
        first, last = self._polls[low].threads.get(tid), self._polls[high].threads.get(tid)
        return first is None or last is None or last.run_ns != first.run_ns

    def exists_at(self, t: int, tid: int) -> bool:
        """Whether the thread still was there at ``t``: no poll before had already lost it."""
        last = self._last_seen.get(tid)
        return last is None or last + 1 >= len(self._polls) or t < self._times[last + 1]
