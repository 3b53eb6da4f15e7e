"""The grid of ticks and the back-off."""

from __future__ import annotations

from gapscope_agent.schedule import NS, BackOff, Grid

MS = NS // 1000


def test_ticks_do_not_drift() -> None:
    grid = Grid(1000, 0.1, 0.02)
    taken = []
    for _ in range(50):
        now = grid.due_ns + 7 * MS
        assert grid.take(now)
        taken.append(now)
    assert taken[-1] == 1000 + 20 * MS + 49 * 100 * MS + 7 * MS
    assert grid.skipped == 0


def test_a_tick_is_not_taken_early_or_twice() -> None:
    grid = Grid(0, 0.1, 0.0)
    assert not grid.take(-1)
    assert grid.take(0)
    assert not grid.take(99 * MS)
    assert grid.take(100 * MS)


def test_late_ticks_are_skipped_and_never_bunched() -> None:
    grid = Grid(0, 0.1, 0.0)
    assert grid.take(0)
    assert grid.take(340 * MS)
    assert grid.skipped == 2
    assert grid.due_ns == 400 * MS
    assert not grid.take(480 * MS)
    assert grid.skipped == 3
    assert grid.due_ns == 500 * MS


def test_shift_moves_the_following_ticks_and_back_off_counts_no_skips() -> None:
    grid = Grid(0, 0.1, 0.0)
    grid.take(0)
    grid.shift(0.03)
    assert grid.due_ns == 130 * MS
    grid.pass_over(1000 * MS)
    assert grid.due_ns == 1030 * MS
    grid.pass_over(500 * MS)
    assert grid.due_ns == 1030 * MS
    assert grid.skipped == 0


def test_back_off_doubles_up_to_a_minute_and_starts_over() -> None:
    back_off = BackOff()
    assert [back_off.fail() for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    back_off.succeed()
    assert back_off.fail() == 1
