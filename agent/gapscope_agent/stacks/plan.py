"""When stacks are taken: ``off``, around drops, or all the time. Pure: the time is passed in, monotonic ns.

A burst takes snapshots (with the owner of the interpreter lock); it begins with a drop or a request and lasts
``burst_seconds``. While a drop goes on, another burst begins every ``again_seconds``. ``continuous`` traces between
bursts too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

NS = 1_000_000_000
SAVED_BURSTS = 6


class Mode(str, Enum):
    """What the operator allows."""

    OFF = "off"
    ON_DROP = "on_drop"
    CONTINUOUS = "continuous"


class Activity(str, Enum):
    """What is to be done at a moment."""

    NOTHING = "nothing"
    TRACE = "trace"
    BURST = "burst"


@dataclass
class Plan:
    """Every new drop is covered for ``burst_seconds`` from its start on, and again each ``again_seconds`` of it.

    A GPU that dips all the time must not be watched at a burst's price all the time: bursts draw on an allowance of
    ``SAVED_BURSTS`` of them, which refills by one each ``again_seconds``.
    """

    mode: Mode
    burst_seconds: float
    again_seconds: float
    _burst_until_ns: int = 0
    _again_ns: int = 0
    _asked_until_ns: int = 0
    _was_dropped: bool = False
    _allowance_seconds: float | None = None
    _refilled_ns: int = 0

    def ask(self, mono_ns: int, seconds: float) -> None:
        """Somebody wants stacks for the next ``seconds``; with ``off`` nobody gets them."""
        self._asked_until_ns = max(self._asked_until_ns, mono_ns + round(seconds * NS))

    def now(self, mono_ns: int, dropped: bool) -> Activity:
        """What to do; to be called several times a second."""
        if self.mode is Mode.OFF:
            return Activity.NOTHING
        self._refill(mono_ns)
        if dropped and (not self._was_dropped or mono_ns >= self._again_ns):
            self._begin(mono_ns)
        self._was_dropped = dropped
        if mono_ns < max(self._burst_until_ns, self._asked_until_ns):
            return Activity.BURST
        return Activity.TRACE if self.mode is Mode.CONTINUOUS else Activity.NOTHING

    def _begin(self, mono_ns: int) -> None:
        """A burst from now on, or a running one longer, as far as the allowance goes."""
        self._again_ns = mono_ns + round(self.again_seconds * NS)
        until_ns = mono_ns + round(self.burst_seconds * NS)
        needed = (until_ns - max(mono_ns, self._burst_until_ns)) / NS
        if self._allowance_seconds is not None and needed <= self._allowance_seconds:
            self._allowance_seconds -= needed
            self._burst_until_ns = until_ns

    def _refill(self, mono_ns: int) -> None:
        most = SAVED_BURSTS * self.burst_seconds
        if self._allowance_seconds is None:
            self._allowance_seconds = most
        else:
            gained = (mono_ns - self._refilled_ns) / NS * self.burst_seconds / self.again_seconds
            self._allowance_seconds = min(most, self._allowance_seconds + gained)
        self._refilled_ns = mono_ns
