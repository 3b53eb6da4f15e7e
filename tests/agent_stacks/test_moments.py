"""Whether a thread ran, and what may be said between two looks of a trace."""

from __future__ import annotations

import pytest

from gapscope_agent.reading import Frame
from gapscope_agent.stacks.parse import Look, SeenThread
from gapscope_agent.stacks.run_times import Poll, Run, RunHistory, ran
from gapscope_agent.stacks.trace_moments import trace_moments

MS = 1_000_000


def poll(t_ms: int, run_ms: float, state: str = "S", *, exact: bool = True, tid: int = 1) -> Poll:
    return Poll(t_ms * MS, {tid: Run(round(run_ms * MS), state, exact)})


@pytest.mark.parametrize(
    ("before", "after", "opinion", "running"),
    [
        (poll(0, 0), poll(20, 12), None, True),
        (poll(0, 0), poll(20, 2), True, False),
        (poll(0, 0, "R", exact=False), poll(20, 0, "R", exact=False), False, True),
        (poll(0, 0, "S", exact=False), poll(20, 0, "S", exact=False), True, False),
        (poll(0, 0, "R", exact=False), poll(20, 0, "S", exact=False), True, True),
        (poll(0, 0, "S", exact=False), poll(100, 60, "S", exact=False), None, True),
        (poll(0, 0, "S", exact=False), poll(100, 10, "R", exact=False), None, False),
        (poll(0, 0, "R", exact=False), poll(100, 30, "S", exact=False), None, True),
        (poll(0, 0), Poll(20 * MS, {}), True, True),
        (Poll(0, {}), poll(20, 0), None, None),
    ],
)
def test_running_is_told_by_time_and_where_that_is_coarse_by_states(
    before: Poll, after: Poll, opinion: bool | None, running: bool | None
) -> None:
    assert ran(before, after, 1, opinion) is running


def look(t_ms: int, function: str, tid: int | None = 1) -> Look:
    return Look(t_ms * 1000, (SeenThread(ident=5, tid=tid, name="main", frames=(Frame(function, "/a.py", 1),)),))


def moments(looks: list[Look], polls: list[Poll], ended_ms: int) -> list[tuple[int, str]]:
    found = trace_moments(looks, 0, ended_ms * MS, 10, RunHistory(polls))
    return [(t // MS, threads[0].frames[0].function) for t, threads in found if threads]


def test_a_thread_that_does_not_run_stands_where_it_was_up_to_the_next_look() -> None:
    polls = [poll(t, 5) for t in range(0, 1300, 100)]
    found = moments([look(50, "wait"), look(1010, "go")], polls, 1050)
    assert found == [*((t, "wait") for t in range(50, 1000, 100)), (1010, "go")]


def test_a_thread_that_begins_to_run_is_not_said_to_stand_still() -> None:
    polls = [poll(t, max(0, t - 500)) for t in range(0, 1300, 100)]
    found = moments([look(50, "wait"), look(1010, "go")], polls, 1050)
    assert found == [*((t, "wait") for t in range(50, 500, 100)), (1010, "go")]


def test_a_thread_that_runs_on_is_filled_in_only_well_before_its_next_change() -> None:
    polls = [poll(t, t) for t in range(0, 1300, 100)]
    found = moments([look(50, "matmul"), look(1010, "go")], polls, 1050)
    assert found == [*((t, "matmul") for t in range(50, 900, 100)), (1010, "go")]


def test_a_thread_that_ended_is_not_in_later_moments() -> None:
    polls = [poll(t, t) if t < 300 else Poll(t * MS, {}) for t in range(0, 1300, 100)]
    assert moments([look(50, "f"), look(1010, "f")], polls, 1050) == [(50, "f"), (150, "f")]


def test_a_thread_that_was_never_polled_counts_as_there_and_as_running() -> None:
    polls = [poll(t, t, tid=2) for t in range(0, 1300, 100)]
    found = moments([look(50, "f"), look(1010, "g")], polls, 1050)
    assert found[0] == (50, "f")
    assert found[-1] == (1010, "g")
    assert RunHistory(polls).ran_at(100 * MS, 1) is None
