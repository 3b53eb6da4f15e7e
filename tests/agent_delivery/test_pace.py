"""The pace of batches: steady, a second each in the first minutes of a drop, steady again."""

from __future__ import annotations

import itertools

from gapscope_agent.pace import NS, BatchPace

TICK = NS // 10


def closed(dropped: range, until: int, batch_seconds: float = 5.0) -> list[float]:
    """Seconds at which a batch closes, asked ten times a second."""
    pace = BatchPace(batch_seconds, 0)
    asked = range(TICK, until * NS + 1, TICK)
    return [at / NS for at in asked if pace.due(at, at // NS in dropped)]


def test_it_is_steady() -> None:
    assert closed(range(0), 20) == [5, 10, 15, 20]


def test_a_drop_is_told_each_second_and_then_the_grid_goes_on() -> None:
    assert closed(range(7, 10), 20) == [5, 7, 8, 9, 10, 15, 20]


def test_a_long_drop_is_no_news() -> None:
    times = closed(range(1000), 400)
    assert [b - a for a, b in itertools.pairwise(times[:290])] == [1] * 289
    assert [at for at in times if at > 330] == [*range(335, 401, 5)]


def test_what_was_slept_through_is_one_batch() -> None:
    pace = BatchPace(5, 0)
    assert pace.due(23 * NS, False)
    assert not pace.due(24 * NS, False)
    assert pace.due(25 * NS, False)


def test_it_says_when_to_ask_again() -> None:
    pace = BatchPace(5, 0)
    assert pace.wait_ns(0) == NS
    assert pace.wait_ns(4_500_000_000) == 500_000_000
    assert pace.wait_ns(6 * NS) == 0
