"""Counters to rates: real elapsed time, nothing negative, no spike, a reason for each missing value."""

from __future__ import annotations

import math
from typing import NamedTuple

from gapscope_agent.derive.counters import Counters


class At(NamedTuple):
    t: int
    mono: int | None = None


S = 1_000_000_000


def rate(counters: Counters, t: float, value: float | None, mono: float | None = None) -> tuple[float, str]:
    at = At(int(t * S), None if mono is None else int(mono * S))
    rates = counters.step(at, {"x": value}, {"x": "hidden"})  # type: ignore[arg-type]
    return round(rates.values["x"], 6), rates.reasons.get("x", "")


def test_rate_is_by_the_time_that_passed() -> None:
    counters = Counters()
    assert rate(counters, 0, 100)[1] == "first_reading"
    assert rate(counters, 0.5, 200) == (200, "")
    assert rate(counters, 2.5, 300) == (50, "")


def test_a_counter_that_goes_backwards_is_missing_once_and_never_negative() -> None:
    counters = Counters()
    rate(counters, 0, 1e9)
    value, reason = rate(counters, 1, 5)
    assert math.isnan(value)
    assert reason == "counter_reset"
    assert rate(counters, 2, 15) == (10, "")


def test_a_wall_clock_that_was_set_changes_no_rate_where_the_monotonic_clock_is_known() -> None:
    counters = Counters()
    rate(counters, 1000, 0, mono=1)
    assert rate(counters, 4601, 10, mono=2) == (10, "")
    assert rate(counters, 900, 30, mono=4) == (10, "")


def test_without_a_monotonic_clock_a_step_back_gives_no_rate() -> None:
    counters = Counters()
    rate(counters, 1000, 0)
    value, reason = rate(counters, 900, 10)
    assert math.isnan(value)
    assert reason == "clock_step"
    assert rate(counters, 901, 20) == (10, "")


def test_two_readings_at_once_do_not_become_a_spike() -> None:
    counters = Counters()
    rate(counters, 0, 0)
    value, reason = rate(counters, 0.001, 10)
    assert math.isnan(value)
    assert reason == "too_soon"
    assert rate(counters, 1, 100) == (100, "")


def test_a_figure_that_was_not_told_has_its_reason_and_none_after_it_has_no_rate() -> None:
    counters = Counters()
    rate(counters, 0, 0)
    assert rate(counters, 1, None)[1] == "hidden"
    assert rate(counters, 2, 100)[1] == "first_reading"
