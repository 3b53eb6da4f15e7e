"""Spans of a series without values, each with its reason: told by the agent, or seen as a hole between samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gapscope_agent.wire import MissingRun

NOT_RECEIVED = "not_received"
MAX_SPANS = 1000

# A hole is three lost samples and at least half a second: below that it is jitter of the sampler.
_HOLE_PERIODS = 3
_MIN_HOLE_NS = 500_000_000


@dataclass
class Absence:
    """A stretch without values, ns since the epoch, and why."""

    start_ns: int
    end_ns: int
    reason: str


class MissingTracker:
    """Collects the absences of one series whose groups come oldest first."""

    def __init__(self, start_ns: int, end_ns: int, period_ns: int) -> None:
        self._period_ns = period_ns
        self._hole_ns = max(_HOLE_PERIODS * period_ns, _MIN_HOLE_NS)
        self._start_ns = start_ns
        self._end_ns = end_ns
        self._last_ns = start_ns
        self._spans: list[Absence] = []

    def add(self, times: npt.NDArray[np.int64], runs: list[MissingRun]) -> None:
        """Take a group's timestamps (all of it, ascending) and what it says is missing."""
        self._add_hole(int(times[0]))
        for at in np.flatnonzero(np.diff(times) > self._hole_ns).tolist():
            self._append(int(times[at]), int(times[at + 1]), NOT_RECEIVED)
        for run in runs:
            end = run.start + run.count
            until = int(times[end]) if end < times.size else int(times[-1]) + self._period_ns
            self._append(int(times[run.start]), until, run.reason)
        self._last_ns = max(self._last_ns, int(times[-1]))

    def finish(self) -> list[Absence]:
        """Absences in order of time; the span's own end closes the last."""
        self._add_hole(self._end_ns)
        return sorted(self._spans, key=lambda span: span.start_ns)

    def _add_hole(self, until_ns: int) -> None:
        if until_ns - self._last_ns > self._hole_ns:
            self._append(self._last_ns, until_ns, NOT_RECEIVED)

    def _append(self, start_ns: int, end_ns: int, reason: str) -> None:
        start_ns, end_ns = max(start_ns, self._start_ns), min(end_ns, self._end_ns)
        if start_ns >= end_ns:
            return
        last = self._spans[-1] if self._spans else None
        if last and last.reason == reason and 0 <= start_ns - last.end_ns <= 2 * self._period_ns:
            last.end_ns = end_ns
        elif len(self._spans) < MAX_SPANS:
            self._spans.append(Absence(start_ns, end_ns, reason))
