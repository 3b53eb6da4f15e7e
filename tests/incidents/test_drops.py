"""The drop detector on series of known shape."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gapscope_backend.analysis.drops import DEFAULTS, Drop, DropState, Status, advance
from gapscope_backend.analysis.gaps import Flags
from gapscope_backend.analysis.window import CELL_NS, Floats

START = 1_796_000_000_000_000_000
PER_SECOND = 10


def level(seconds: float, ratio: float) -> Floats:
    return np.full(round(seconds * PER_SECOND), ratio)


def nothing(seconds: float) -> Floats:
    return level(seconds, np.nan)


def bursts(seconds: float, duty: float, period_seconds: float = 2.0, high: float = 1.0) -> Floats:
    period = round(period_seconds * PER_SECOND)
    one = np.where(np.arange(period) < round(period * duty), high, 0.0)
    return np.resize(one, round(seconds * PER_SECOND))


def find(*parts: Floats, owned: Flags | None = None) -> tuple[list[Drop], DropState]:
    state = DropState()
    return advance(state, START, np.concatenate(parts), owned), state


def at(time_ns: int) -> float:
    return (time_ns - START) / 1e9


def test_a_step_down_and_up_is_one_drop_with_exact_ends() -> None:
    (drop,), state = find(level(30, 0.9), level(20, 0.02), level(30, 0.9))
    assert (at(drop.start_ns), at(drop.end_ns)) == (30, 50)
    assert drop.active_ratio == pytest.approx(0.02)
    assert not drop.ongoing
    assert state.status is Status.NORMAL


@pytest.mark.parametrize(("seconds", "told"), [(9.8, False), (10.0, True)])
def test_a_drop_is_told_once_it_has_lasted(seconds: float, told: bool) -> None:
    _, state = find(level(30, 0.9), level(seconds, 0.0))
    assert (state.current is not None) is told
    assert state.status is (Status.DROPPED if told else Status.NORMAL)


def test_a_dip_that_was_too_short_is_never_told() -> None:
    drops, state = find(level(30, 0.9), level(9, 0.0), level(30, 0.9))
    assert (drops, state.current) == ([], None)


def test_losing_half_of_its_own_baseline_is_a_drop() -> None:
    (drop,), _ = find(level(120, 0.95), level(30, 0.42), level(30, 0.95))
    assert (at(drop.start_ns), at(drop.end_ns)) == (120, 150)
    assert drop.baseline_ratio == pytest.approx(0.95)
    assert drop.threshold_ratio == pytest.approx(0.475)


def test_without_a_baseline_only_the_level_counts() -> None:
    drops, state = find(level(30, 0.95), level(60, 0.42))
    assert (drops, state.current) == ([], None)


def test_a_slow_decline_is_told_when_it_is_deep() -> None:
    decline = np.linspace(0.9, 0.0, 1800 * PER_SECOND)
    drops, state = find(level(60, 0.9), decline)
    assert drops == []
    assert state.current is not None
    assert 0.24 < 0.9 - 0.9 * (at(state.current.start_ns) - 60) / 1800 < 0.46


def test_flapping_faster_than_the_window_is_one_drop() -> None:
    drops, state = find(level(60, 0.9), bursts(120, duty=0.1, period_seconds=5), level(60, 0.9))
    assert len(drops) == 1
    assert state.current is None


def test_flapping_around_the_level_is_not_told_again_and_again() -> None:
    wobble = np.concatenate([np.concatenate([level(4, 0.2), level(4, 0.28)]) for _ in range(40)])
    drops, state = find(level(20, 0.9), level(12, 0.1), wobble)
    assert drops == []
    assert state.current is not None


@pytest.mark.parametrize(
    ("duty", "told"), [(0.0, True), (0.1, True), (0.2, True), (0.35, False), (0.5, False), (0.9, False)]
)
def test_bursts_count_by_their_mean(duty: float, told: bool) -> None:
    _, state = find(level(30, 0.9), bursts(60, duty))
    assert (state.current is not None) is told


def test_a_gap_in_the_data_is_no_drop() -> None:
    drops, state = find(level(60, 0.9), nothing(300))
    assert (drops, state.current, state.status) == ([], None, Status.NO_DATA)


def test_a_gap_in_the_data_is_no_recovery() -> None:
    drops, state = find(level(60, 0.9), level(15, 0.0), nothing(3600))
    assert drops == []
    assert state.current is not None
    assert at(state.current.end_ns) == 75
    assert state.status is Status.NO_DATA
    over = advance(state, state.watermark_ns, np.concatenate([level(5, 0.0), level(20, 0.9)]))
    assert [at(drop.end_ns) for drop in over] == [60 + 15 + 3600 + 5]


def test_time_without_data_does_not_lengthen_a_drop() -> None:
    _, short = find(level(60, 0.9), level(5, 0.0), nothing(30), level(4, 0.0))
    assert short.current is None
    _, enough = find(level(60, 0.9), level(5, 0.0), nothing(30), level(5, 0.0))
    assert enough.current is not None


def test_what_was_no_drop_before_a_long_gap_is_forgotten() -> None:
    _, state = find(level(60, 0.9), level(9, 0.0), nothing(61), level(5, 0.0))
    assert state.current is None


def test_a_gpu_that_was_never_busy_is_unused() -> None:
    drops, state = find(level(600, 0.004))
    assert (drops, state.current, state.status) == ([], None, Status.UNUSED)


def test_a_gpu_that_works_a_little_from_the_start_is_in_a_drop_from_the_start() -> None:
    _, state = find(level(30, 0.06))
    assert state.current is not None
    assert at(state.current.start_ns) == 0


def test_a_gpu_without_owner_is_unused_and_its_drop_ends() -> None:
    active = np.concatenate([level(30, 0.9), level(60, 0.0)])
    owned = np.arange(active.size) < 50 * PER_SECOND
    (drop,), state = find(active, owned=owned)
    assert (at(drop.start_ns), at(drop.end_ns)) == (30, 50)
    assert state.status is Status.UNUSED
    assert state.current is None


def test_the_next_owner_starts_without_the_last_ones_baseline() -> None:
    active = np.concatenate([level(120, 0.95), level(20, 0.0), level(120, 0.4)])
    owned = np.ones(active.size, dtype=bool)
    owned[1200:1400] = False
    drops, state = find(active, owned=owned)
    assert drops == []
    assert state.status is Status.NORMAL


def test_cells_before_the_watermark_are_taken_once() -> None:
    active = np.concatenate([level(30, 0.9), level(20, 0.0), level(30, 0.9)])
    whole = DropState()
    expected = advance(whole, START, active)
    state = DropState()
    told = advance(state, START, active[:400])
    told += advance(state, START + 300 * CELL_NS, active[300:600])
    told += advance(state, START, active)
    assert told == expected
    assert state == whole


shapes = st.lists(
    st.tuples(st.integers(1, 150), st.sampled_from([0.0, 0.005, 0.1, 0.24, 0.3, 0.6, 0.97, float("nan")])),
    min_size=1,
    max_size=12,
)


@settings(deadline=None, max_examples=60)
@given(shapes=shapes, cuts=st.lists(st.integers(0, 1800), max_size=8))
def test_cutting_and_writing_down_changes_nothing(shapes: list[tuple[int, float]], cuts: list[int]) -> None:
    active = np.concatenate([np.full(count, value) for count, value in shapes])
    whole = DropState()
    expected = advance(whole, START, active)
    state, told = DropState(), []
    edges = sorted({0, active.size, *(cut % active.size for cut in cuts)})
    for first, last in itertools.pairwise(edges):
        state = DropState.from_json(json.loads(json.dumps(state.to_json())))
        told += advance(state, START + first * CELL_NS, active[first:last])
    assert told == expected
    assert state == whole


@settings(deadline=None, max_examples=60)
@given(shapes=shapes)
def test_drops_are_ordered_and_long_enough(shapes: list[tuple[int, float]]) -> None:
    active = np.concatenate([np.full(count, value) for count, value in shapes])
    drops, state = find(active)
    edges = [
        time for drop in [*drops, *([state.current] if state.current else [])] for time in (drop.start_ns, drop.end_ns)
    ]
    assert edges == sorted(edges)
    for drop in drops:
        cells = active[(drop.start_ns - START) // CELL_NS : (drop.end_ns - START) // CELL_NS]
        assert np.isfinite(cells).sum() >= DEFAULTS.min_duration_seconds * PER_SECOND
        assert np.nanmean(cells) < drop.threshold_ratio * (1 + DEFAULTS.recover_margin_ratio)


def test_the_settings_are_heeded() -> None:
    quick = replace(DEFAULTS, min_duration_seconds=1.0, window_seconds=1.0, close_after_seconds=1.0, level_ratio=0.5)
    state = DropState()
    active = np.concatenate([level(5, 0.9), level(2, 0.4), level(2, 0.9)])
    (drop,) = advance(state, START, active, None, quick)
    assert (at(drop.start_ns), at(drop.end_ns)) == (5, 7)


def test_a_state_of_another_version_is_read() -> None:
    data = {**DropState(watermark_ns=7).to_json(), "added_later": 1}
    del data["told_baseline"]
    assert DropState.from_json(data) == DropState(watermark_ns=7)
