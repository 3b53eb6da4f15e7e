"""The ledger: every GPU-second of every cell goes to exactly one cause.

Idle seconds of a cell (1 - graphics active) are split over the activities of the feeding threads; busy seconds are
one pool. Causes claim in the order of ``CAUSES`` and get at most what is left; the rest is ``unknown``, and cells
without data are ``not_measured``. So the rows sum to the window whatever the rules say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes import CAUSES
from gapscope_backend.analysis.causes.cause import Cause
from gapscope_backend.analysis.causes.plain import NOT_MEASURED, UNKNOWN
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats


@dataclass(frozen=True)
class Entry:
    """Seconds of one cause on one GPU, per cell; ``idle`` holds the activities of which it has any."""

    cause: Cause
    confidence: float
    idle: Mapping[Activity, Floats]
    busy: Floats

    @property
    def cells(self) -> Floats:
        """Seconds per cell, idle and busy together."""
        return sum(self.idle.values(), start=self.busy)

    @property
    def idle_seconds(self) -> float:
        """Idle seconds over the window."""
        return float(sum(cells.sum() for cells in self.idle.values()))

    @property
    def seconds(self) -> float:
        """Seconds over the window."""
        return float(self.cells.sum())


def _fraction(value: Floats | float) -> Floats | float:
    if isinstance(value, float | int):
        return min(1.0, max(0.0, value)) if value == value else 0.0
    return np.minimum(np.fmax(value, 0.0), 1.0)  # fmax takes NaN for 0


def _take(idle: dict[Activity, Floats], fractions: Mapping[Activity, Floats | float]) -> dict[Activity, Floats]:
    """Take the fractions out of what is left of ``idle``; activities of which nothing is left drop out of it."""
    taken = {}
    for activity in [activity for activity in fractions if activity in idle]:
        fraction = _fraction(fractions[activity])
        if isinstance(fraction, float | int) and fraction == 0:
            continue
        seconds = idle[activity] * fraction
        if seconds.any():
            taken[activity] = seconds
            idle[activity] = idle[activity] - seconds
            if not idle[activity].any():
                del idle[activity]
    return taken


def build_ledger(view: View) -> tuple[Entry, ...]:
    """Entries with time, in the order of ``CAUSES``; their seconds sum to the window's."""
    everything = view.host.share * view.idle
    idle = {activity: everything[activity] for activity in Activity if everything[activity].any()}
    busy = view.busy
    entries: list[Entry] = []
    for cause in CAUSES:
        claim = cause.claim(view)
        taken = _take(idle, claim.idle)
        worked = busy * _fraction(claim.busy)
        busy = busy - worked
        if taken or worked.any():
            entries.append(Entry(cause, claim.confidence, taken, worked))
    rest = dict(idle)
    entries.append(Entry(UNKNOWN, 0.0, rest, busy))
    entries.append(Entry(NOT_MEASURED, 1.0, {}, np.where(view.known, 0.0, view.seconds)))
    return tuple(entry for entry in entries if entry.seconds > 0)
