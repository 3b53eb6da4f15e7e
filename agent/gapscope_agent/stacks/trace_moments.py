"""The looks of a trace to moments at about an even rate, each saying nothing that was not so.

py-spy's trace tells only the looks at which something changed. Between two of them the stacks stood still at every
look, but when the last look before a change was is not told. So a moment is filled in between for a thread when it
used no CPU since its last look (a thread that does not run cannot change its stack), or when it went on running (or
waiting in short steps) as before and the next change is far enough away for a look to have come between.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from gapscope_agent.stacks.parse import Look, SeenThread
from gapscope_agent.stacks.run_times import RunHistory

US = 1_000
SURE_PERIODS = 1.5
"""py-spy's looks are spaced at random (exponentially): in so many periods one comes with 78 % probability."""


def trace_moments(
    looks: list[Look], began_ns: int, ended_ns: int, rate_hertz: int, history: RunHistory
) -> Iterator[tuple[int, list[SeenThread]]]:
    """Moments (ns since the epoch) of a trace that ran from ``began_ns`` to ``ended_ns``, in order of time."""
    period_ns = 1_000_000_000 // rate_hertz
    times = [began_ns + look.t_us * US for look in looks] + [ended_ns]
    for look, (t, following) in zip(looks, itertools.pairwise(times), strict=True):
        yield t, [thread for thread in look.threads if _exists(thread, t, history)]
        for filled in range(t + period_ns, following - period_ns // 2, period_ns):
            sure = following - filled >= SURE_PERIODS * period_ns
            still = [
                thread
                for thread in look.threads
                if _exists(thread, filled, history) and _stood(thread, t, filled, sure, history)
            ]
            if still:
                yield filled, still


def _exists(thread: SeenThread, t: int, history: RunHistory) -> bool:
    return thread.tid is None or history.exists_at(t, thread.tid)


def _stood(thread: SeenThread, seen: int, filled: int, sure: bool, history: RunHistory) -> bool:
    """Whether the thread still stood at ``filled`` where it was ``seen``: it did not run, or kept running there."""
    if thread.tid is None:
        return sure
    if not history.ran_between(seen, filled, thread.tid):
        return True
    return sure and history.ran_at(filled, thread.tid) is history.ran_at(seen, thread.tid)
