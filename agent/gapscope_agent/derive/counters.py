"""Counters to rates by the time that really passed between two readings.

A rate is never negative and never a spike: a counter that went backwards (restart, wrap, another process under the
same id) gives no value, and so does an interval too short to divide by. The monotonic clock is used where both
readings have it, since the wall clock may be set in between.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, Protocol

MIN_ELAPSED_SECONDS = 0.02
"""Below it one 10 ms jiffy would look like half a core or more."""
FIRST_READING = "first_reading"
COUNTER_RESET = "counter_reset"
TOO_SOON = "too_soon"
CLOCK_STEP = "clock_step"


class Stamped(Protocol):
    """Anything with a wall-clock and perhaps a monotonic time, in ns; every reading is."""

    t: int
    mono: int | None


class Stamp(NamedTuple):
    """The two times of a reading, without the reading."""

    t: int
    mono: int | None


class Rates(NamedTuple):
    """Rates per second by metric, NaN where there is none, and the reasons for those."""

    values: dict[str, float]
    reasons: dict[str, str]


def elapsed_seconds(before: Stamp, now: Stamped) -> float:
    """Seconds from ``before`` to ``now``: monotonic where both have it, else by the wall clock."""
    if before.mono is not None and now.mono is not None:
        return (now.mono - before.mono) / 1e9
    return (now.t - before.t) / 1e9


class Counters:
    """Cumulative counters of one thing, stepped from reading to reading."""

    def __init__(self) -> None:
        self._stamp: Stamp | None = None
        self._last: dict[str, float] = {}

    def step(
        self, at: Stamped, counters: Mapping[str, float | None], missing: Mapping[str, str] | None = None
    ) -> Rates:
        """Rates since the last step; ``counters`` in the unit of the metric that each is named after.

        ``missing`` gives the reason for a counter that is None.
        """
        elapsed = math.nan if self._stamp is None else elapsed_seconds(self._stamp, at)
        if 0 <= elapsed < MIN_ELAPSED_SECONDS:
            return Rates(dict.fromkeys(counters, math.nan), dict.fromkeys(counters, TOO_SOON))
        values: dict[str, float] = {}
        reasons: dict[str, str] = {}
        for name, value in counters.items():
            before = self._last.get(name)
            rate = math.nan if value is None or before is None else (value - before) / elapsed
            if rate >= 0:
                values[name] = rate
                continue
            values[name] = math.nan
            if value is None:
                reasons[name] = (missing or {}).get(name, "not_reported")
            else:
                reasons[name] = _why(before, elapsed)
        self._stamp = Stamp(at.t, at.mono)
        self._last = {name: value for name, value in counters.items() if value is not None}
        return Rates(values, reasons)


def _why(before: float | None, elapsed: float) -> str:
    if before is None:
        return FIRST_READING
    return CLOCK_STEP if elapsed < 0 else COUNTER_RESET


def limited(rates: Rates, *ratios: str) -> Rates:
    """The same rates with the named ones, shares of time, held at 1: clocks of two sources differ by a little."""
    for name in ratios:
        if rates.values.get(name, math.nan) > 1:
            rates.values[name] = 1.0
    return rates
