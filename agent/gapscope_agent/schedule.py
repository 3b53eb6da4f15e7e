"""When a source is due: a fixed monotonic grid that does not drift, and back-off after failures."""

from __future__ import annotations

NS = 1_000_000_000


class Grid:
    """Ticks at ``origin + phase + k * period``. A tick that is late by more than half a period is skipped and counted.

    So two ticks never come closer than half a period: counters that are renewed once a period are not read twice.
    """

    def __init__(self, origin_ns: int, period_seconds: float, phase_seconds: float) -> None:
        self._first_ns = origin_ns + round(phase_seconds * NS)
        self._period_ns = round(period_seconds * NS)
        self._tick = 0
        self.skipped = 0

    @property
    def due_ns(self) -> int:
        """Monotonic time of the next tick."""
        return self._first_ns + self._tick * self._period_ns

    def take(self, now_ns: int) -> bool:
        """True when a tick is due and not too late; too late ones are passed over."""
        if now_ns < self.due_ns:
            return False
        late_ns = now_ns - self.due_ns
        passed = late_ns // self._period_ns
        in_time = late_ns - passed * self._period_ns <= self._period_ns // 2
        self._tick += passed + 1
        self.skipped += passed + (0 if in_time else 1)
        return in_time

    def shift(self, seconds: float) -> None:
        """Move all ticks from the next one on."""
        self._first_ns += round(seconds * NS)

    def pass_over(self, until_ns: int) -> None:
        """Leave out the ticks before ``until_ns`` on purpose (back-off); they do not count as skipped."""
        if until_ns > self.due_ns:
            self._tick += -(-(until_ns - self.due_ns) // self._period_ns)


class BackOff:
    """Seconds to wait after the n-th failure in a row: 1, 2, 4, ... up to 60."""

    FIRST_SECONDS = 1.0
    MOST_SECONDS = 60.0

    def __init__(self) -> None:
        self._next = self.FIRST_SECONDS

    def fail(self) -> float:
        """Another failure; how long to wait."""
        seconds = self._next
        self._next = min(self._next * 2, self.MOST_SECONDS)
        return seconds

    def succeed(self) -> None:
        """Start over."""
        self._next = self.FIRST_SECONDS
