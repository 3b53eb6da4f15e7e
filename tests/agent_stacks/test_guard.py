"""The guard: rarer looks where they cost too much, and none any more where they harm."""

from __future__ import annotations

import pytest

from gapscope_agent.stacks import states
from gapscope_agent.stacks.guard import LONGEST_PAUSE_SECONDS, STRIKES, Guard
from gapscope_agent.stacks.messages import Cost, Refused

CHEAP = Cost(cpu_seconds=0.005, wall_seconds=0.01, threads=4)


def test_a_cheap_target_is_looked_at_as_often_as_wished() -> None:
    guard = Guard(9, 0.2)
    assert guard.looked(CHEAP, 1, 0.1).state == states.SAMPLING
    assert guard.pause_seconds(0.1) == 0.2


def test_many_threads_make_looks_rarer_and_the_reason_is_told() -> None:
    guard = Guard(9, 0.2)
    standing = guard.looked(Cost(cpu_seconds=0.08, wall_seconds=0.1, threads=159), 1, 0.1)
    assert standing.state == states.SLOWED
    assert "159 threads" in standing.reason
    assert "0.8 s instead of 0.2 s" in standing.reason
    assert guard.pause_seconds(0.1) == pytest.approx(0.8)
    assert guard.pause_seconds(1e-9) == LONGEST_PAUSE_SECONDS


def test_the_cost_of_a_trace_is_shared_by_its_looks() -> None:
    guard = Guard(9, 0.1)
    assert guard.looked(Cost(cpu_seconds=0.1, wall_seconds=10.0, threads=2), 100, 0.1).state == states.SAMPLING


def test_a_trace_that_falls_behind_its_rhythm_counts_as_late() -> None:
    guard = Guard(9, 0.1)
    standing = guard.looked(Cost(1.0, 12.0, 159, behind_seconds=6.28), 100, 1.0)
    assert (standing.state, standing.reason) == (states.TOO_SLOW, "a look at process 9 came 6.3 s late (159 threads)")


def test_looks_that_come_late_again_and_again_end_the_watching() -> None:
    guard = Guard(9, 0.2)
    late = Cost(cpu_seconds=0.01, wall_seconds=2.5, threads=3)
    pauses = []
    ended = []
    for _ in range(STRIKES):
        standing = guard.looked(late, 1, 0.1)
        pauses.append(guard.pause_seconds(0.1))
        ended.append(guard.ended)
    assert ended == [False] * (STRIKES - 1) + [True]
    assert pauses == sorted(pauses)
    assert pauses[0] >= 1.0
    assert standing.state == states.TOO_SLOW
    assert "no more looks" in standing.reason


@pytest.mark.parametrize("state", [states.STOPPED, states.TOO_SLOW, states.TOO_MANY_THREADS])
def test_signs_of_harm_end_the_watching_and_a_good_look_between_starts_the_count_anew(state: str) -> None:
    guard = Guard(9, 0.2)
    for _ in range(STRIKES - 1):
        guard.refused(Refused(state, "why", final=False))
    guard.looked(CHEAP, 1, 0.1)
    for _ in range(STRIKES - 1):
        assert guard.refused(Refused(state, "why", final=False)).reason == "why"
    before = guard.ended
    guard.refused(Refused(state, "why", final=False))
    assert (before, guard.ended) == (False, True)
    assert guard.standing is not None
    assert guard.standing.state == state


def test_what_cannot_help_is_not_tried_again() -> None:
    guard = Guard(9, 0.2)
    guard.refused(Refused(states.NOT_PYTHON, "a shell", final=True))
    assert guard.ended


def test_other_failures_are_tried_again_ever_more_rarely() -> None:
    guard = Guard(9, 0.2)
    pauses = []
    for _ in range(12):
        guard.refused(Refused(states.NO_HELPER, "gone", final=False))
        pauses.append(guard.pause_seconds(0.1))
    assert not guard.ended
    assert pauses[:3] == [1.0, 2.0, 4.0]
    assert pauses[-1] == LONGEST_PAUSE_SECONDS
    guard.looked(CHEAP, 1, 0.1)
    assert guard.pause_seconds(0.1) == 0.2
