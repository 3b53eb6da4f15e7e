"""Runs one source: opens it, calls it on its grid, records its cost and its state.

Two threads meet here: the lane that calls the source, and the watch that looks whether a call has taken longer than
the source's deadline. What both touch is guarded by a lock; the source's own call is made outside it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gapscope_agent.clock import Clock
from gapscope_agent.errors import SourceUnavailableError
from gapscope_agent.reading import Reading, SourceState
from gapscope_agent.schedule import NS, BackOff, Grid
from gapscope_agent.sources.base import Source

logger = logging.getLogger(__name__)

OK = "ok"
UNAVAILABLE = "unavailable"
LATE = "late"


@dataclass(frozen=True)
class SourceCost:
    """What a source cost since the start. ``achieved_period_seconds`` is None before its second call.

    ``late`` counts calls that ran past the deadline, ``skipped`` the ticks that were passed over because an earlier
    call, or the machine, was slow; ``errors`` the calls that failed.
    """

    name: str
    period_seconds: float
    calls: int
    wall_ns: int
    cpu_ns: int
    errors: int
    late: int
    skipped: int
    achieved_period_seconds: float | None
    state: str
    reason: str


class SourceRunner:
    """One source on its grid. ``emit`` takes readings from the lane's thread and states from either."""

    def __init__(self, source: Source, emit: Callable[[Reading], None], clock: Clock, origin_ns: int) -> None:
        self.source = source
        self.grid = Grid(origin_ns, source.period_seconds, source.phase_seconds)
        self._emit = emit
        self._clock = clock
        self._lock = threading.Lock()
        self._back_off = BackOff()
        self._opened = False
        self._started_ns: int | None = None
        self._state = ""
        self._reason = ""
        self._calls = self._wall_ns = self._cpu_ns = self._errors = self._late = 0
        self._first_ns = self._last_ns = 0

    def tick(self) -> None:
        """Call the source if it is due."""
        mono_ns = self._clock.mono_ns()
        if self.grid.take(mono_ns):
            self._call(mono_ns)

    def check_deadline(self) -> None:
        """Called from another thread: say that the source is late while its call still hangs."""
        with self._lock:
            if self._started_ns is None or self._state == LATE:
                return
            waited = (self._clock.mono_ns() - self._started_ns) / NS
            if waited <= self.source.deadline_seconds:
                return
            self._late += 1
            limit = self.source.deadline_seconds
            change = self._change(LATE, f"No answer for {waited:.1f} s; the limit is {limit:g} s.")
        self._emit_all(change)

    def close(self) -> None:
        """Let the source go of what it holds, and pass on what it held back."""
        if self._opened:
            self._emit_all(self.source.rest(self._clock.mono_ns()))
        self._opened = False
        self.source.close()

    def cost(self) -> SourceCost:
        """The record up to now."""
        with self._lock:
            span = self._last_ns - self._first_ns
            return SourceCost(
                name=self.source.name,
                period_seconds=self.source.period_seconds,
                calls=self._calls,
                wall_ns=self._wall_ns,
                cpu_ns=self._cpu_ns,
                errors=self._errors,
                late=self._late,
                skipped=self.grid.skipped,
                achieved_period_seconds=span / (self._calls - 1) / NS if self._calls > 1 else None,
                state=self._state,
                reason=self._reason,
            )

    def _call(self, mono_ns: int) -> None:
        now_ns = self._clock.wall_ns()
        cpu_ns = self._clock.thread_cpu_ns()
        with self._lock:
            self._started_ns = mono_ns
        readings: Sequence[Reading] = ()
        failure = ""
        try:
            if not self._opened:
                self.source.open()
                self._opened = True
            readings = self.source.sample(now_ns, mono_ns)
        except SourceUnavailableError as error:
            failure = str(error)
        except Exception as error:
            logger.exception("source %s failed", self.source.name)
            failure = f"{type(error).__name__}: {error}"
        cpu_ns = self._clock.thread_cpu_ns() - cpu_ns
        self._emit_all(self._record(mono_ns, cpu_ns, failure))
        self._emit_all(readings)

    def _record(self, started_ns: int, cpu_ns: int, failure: str) -> Sequence[Reading]:
        """Count a call that just ended; the change of state that it brought, if any."""
        ended_ns = self._clock.mono_ns()
        with self._lock:
            self._started_ns = None
            self._calls += 1
            self._wall_ns += ended_ns - started_ns
            self._cpu_ns += cpu_ns
            self._first_ns = self._first_ns or started_ns
            self._last_ns = started_ns
            if self.source.shift_seconds:
                self.grid.shift(self.source.shift_seconds)
                self.source.shift_seconds = 0.0
            if not failure:
                self._back_off.succeed()
                return self._change(OK, "")
            self._errors += 1
            self._opened = False
            self.grid.pass_over(ended_ns + round(self._back_off.fail() * NS))
            return self._change(UNAVAILABLE, failure)

    def _change(self, state: str, reason: str) -> Sequence[Reading]:
        if (state, reason) == (self._state, self._reason):
            return ()
        self._state, self._reason = state, reason
        now_ns, mono_ns = self._clock.wall_ns(), self._clock.mono_ns()
        return (SourceState(t=now_ns, mono=mono_ns, source=self.source.name, state=state, reason=reason),)

    def _emit_all(self, readings: Sequence[Reading]) -> None:
        """Outside the lock: who receives a reading may ask for the costs."""
        for reading in readings:
            self._emit(reading)
