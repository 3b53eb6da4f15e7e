"""The one drop detector: when a GPU that was in use stopped being used.

Incidents, alerts and stack bursts all ask here. ``advance`` takes one GPU's 100 ms cells in order of time and keeps
what it must remember in a ``DropState``; the same cells give the same answer however they are cut into calls, and a
state written down and read again goes on as if nothing had happened. There is no clock inside: the caller decides up
to which watermark the cells are complete and feeds each cell once.

How: a cumulative sum of (threshold - activity) rises while the GPU is below the threshold. Where it last stood at
zero is when the drop began, where it stood highest is until when it lasted. So a drop has a begin and an end to the
cell, bursts do not cut it while their mean stays low, and short dips wash out. All arithmetic is in whole millionths:
sums of floats would depend on how the cells were cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import Enum
from typing import Any

import numpy as np

from gapscope_backend.analysis.gaps import Flags
from gapscope_backend.analysis.window import CELL_NS, Floats

ONE = 1_000_000
"""A ratio of 1 in the state's whole numbers."""
UNKNOWN = -1
_CELLS_PER_SECOND = 1_000_000_000 // CELL_NS


@dataclass(frozen=True)
class DropSettings:
    """When a GPU counts as dropped. Durations count measured time: a stretch without data is not in them.

    ``level_ratio`` is the mean activity below which a GPU in use is in a drop whatever it did before.
    ``baseline_drop_ratio`` is the share of its own median of the last ``baseline_seconds`` that it must lose to be in
    one; the baseline counts once it covers ``baseline_min_seconds``. A drop is told once it has lasted
    ``min_duration_seconds`` with the mean of the last ``window_seconds`` below the threshold, and is over when it has
    not gone on for ``close_after_seconds`` against a threshold raised by ``recover_margin_ratio``. A GPU is in use when
    it has an owner and one cell of ``in_use_ratio`` or more. After ``forget_seconds`` without data, what was not yet a
    drop starts anew.
    """

    window_seconds: float = 5.0
    level_ratio: float = 0.25
    baseline_seconds: float = 600.0
    baseline_min_seconds: float = 60.0
    baseline_drop_ratio: float = 0.5
    min_duration_seconds: float = 10.0
    close_after_seconds: float = 10.0
    recover_margin_ratio: float = 0.2
    in_use_ratio: float = 0.01
    forget_seconds: float = 60.0
    baseline_block_seconds: float = 10.0


DEFAULTS = DropSettings()


class Status(str, Enum):
    """What is known of a GPU at its watermark. ``NO_DATA`` is neither a drop nor a recovery."""

    NORMAL = "normal"
    DROPPED = "dropped"
    UNUSED = "unused"
    NO_DATA = "no_data"


@dataclass(frozen=True)
class Drop:
    """A drop in ns since the epoch: ``end_ns`` is how far it reached, ``ongoing`` whether it may go on.

    ``active_ratio`` is the mean over it, ``threshold_ratio`` and ``baseline_ratio`` what it was held against when it
    was told (baseline None: not known yet), ``measured_ns`` how much of it was measured.
    """

    start_ns: int
    end_ns: int
    ongoing: bool
    active_ratio: float
    threshold_ratio: float
    baseline_ratio: float | None
    measured_ns: int = field(default=0, compare=False)


@dataclass
class DropState:
    """What the detector remembers of one GPU; whole numbers and lists of them, so that JSON holds it exactly.

    ``low_*`` describe the stretch of low activity in progress: its first cell, its sum now and at its highest, the
    end of its highest cell, measured cells and activity up to there, and measured cells since.
    """

    watermark_ns: int = 0
    measured_ns: int = 0
    owned: bool = True
    used: bool = False
    dropped: bool = False
    window: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)
    block_sum: int = 0
    block_cells: int = 0
    low_start_ns: int = UNKNOWN
    low_sum: int = 0
    low_peak: int = 0
    low_end_ns: int = 0
    low_cells: int = 0
    low_active: int = 0
    since_cells: int = 0
    since_active: int = 0
    told_threshold: int = 0
    told_baseline: int = UNKNOWN

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> DropState:
        """From plain data; fields of another version are left out, missing ones get their defaults."""
        known = {f.name for f in fields(DropState)}
        return DropState(**{name: value for name, value in data.items() if name in known})

    @property
    def status(self) -> Status:
        """What holds at the watermark."""
        if self.watermark_ns - self.measured_ns > CELL_NS * _CELLS_PER_SECOND * 2:
            return Status.NO_DATA
        if not (self.owned and self.used):
            return Status.UNUSED
        return Status.DROPPED if self.dropped else Status.NORMAL

    @property
    def current(self) -> Drop | None:
        """The drop in progress; it goes on through a stretch without data."""
        return self.as_drop(ongoing=True) if self.dropped else None

    def as_drop(self, ongoing: bool) -> Drop:
        """The stretch of low activity as a drop."""
        return Drop(
            start_ns=self.low_start_ns,
            end_ns=self.low_end_ns,
            ongoing=ongoing,
            active_ratio=self.low_active / max(1, self.low_cells) / ONE,
            threshold_ratio=self.told_threshold / ONE,
            baseline_ratio=None if self.told_baseline == UNKNOWN else self.told_baseline / ONE,
            measured_ns=self.low_cells * CELL_NS,
        )

    def forget_low(self) -> None:
        """End the stretch of low activity."""
        self.dropped = False
        self.low_start_ns = UNKNOWN
        self.low_sum = self.low_peak = self.low_end_ns = 0
        self.low_cells = self.low_active = self.since_cells = self.since_active = 0


def advance(
    state: DropState, start_ns: int, active: Floats, owned: Flags | None = None, settings: DropSettings = DEFAULTS
) -> list[Drop]:
    """Take the cells from ``start_ns`` on and return the drops that ended in them; changes ``state``.

    ``active`` is the ratio of each cell (NaN: no data), ``owned`` whether some process holds the GPU (None: assume
    so). Cells before the watermark are left out: they were taken before.
    """
    rules = _Rules(settings)
    skip = max(0, -(-(state.watermark_ns - start_ns) // CELL_NS))
    known = ~np.isnan(active)
    values = np.rint(np.clip(np.nan_to_num(active), 0.0, 1.0) * ONE).astype(np.int64).tolist()
    holds = [True] * len(values) if owned is None else owned.tolist()
    ended: list[Drop] = []
    for at in range(skip, len(values)):
        begin_ns = start_ns + at * CELL_NS
        if known[at]:
            over = rules.take(state, begin_ns, values[at], holds[at])
            if over is not None:
                ended.append(over)
        state.watermark_ns = begin_ns + CELL_NS
    return ended


class _Rules:
    """The settings in cells and millionths, and the step of one cell."""

    def __init__(self, settings: DropSettings) -> None:
        def cells(seconds: float) -> int:
            return max(1, round(seconds * _CELLS_PER_SECOND))

        self.window = cells(settings.window_seconds)
        self.level = round(settings.level_ratio * ONE)
        self.block = cells(settings.baseline_block_seconds)
        self.blocks = max(1, round(settings.baseline_seconds / settings.baseline_block_seconds))
        self.min_blocks = max(1, round(settings.baseline_min_seconds / settings.baseline_block_seconds))
        self.keeps = round((1.0 - settings.baseline_drop_ratio) * ONE)
        self.min_duration = cells(settings.min_duration_seconds)
        self.close_after = cells(settings.close_after_seconds)
        self.raised = round((1.0 + settings.recover_margin_ratio) * ONE)
        self.in_use = round(settings.in_use_ratio * ONE)
        self.forget_ns = cells(settings.forget_seconds) * CELL_NS

    def take(self, state: DropState, begin_ns: int, value: int, owned: bool) -> Drop | None:
        """One measured cell; the drop that ended with it, if one did."""
        if not state.dropped and state.measured_ns and begin_ns - state.measured_ns > self.forget_ns:
            state.forget_low()
            state.window.clear()
        state.measured_ns = begin_ns + CELL_NS
        state.owned = owned
        if not owned:
            return self._unused(state)
        state.used = state.used or value >= self.in_use
        if not state.used:
            return None
        state.window.append(value)
        del state.window[: -self.window]
        self._sum_low(state, begin_ns, value)
        if state.dropped:
            return self._end_if_over(state)
        self._learn(state, value)
        self._begin_if_low(state)
        return None

    def _unused(self, state: DropState) -> Drop | None:
        """Nobody holds the GPU: no drop goes on and the next owner starts from nothing."""
        over = state.as_drop(ongoing=False) if state.dropped else None
        state.forget_low()
        state.used = False
        state.window.clear()
        state.blocks.clear()
        state.block_sum = state.block_cells = 0
        return over

    def _baseline(self, state: DropState) -> int:
        if len(state.blocks) < self.min_blocks:
            return UNKNOWN
        return sorted(state.blocks)[len(state.blocks) // 2]

    def _threshold(self, state: DropState) -> int:
        if state.dropped:
            return state.told_threshold * self.raised // ONE
        return max(self.level, self._baseline(state) * self.keeps // ONE)

    def _sum_low(self, state: DropState, begin_ns: int, value: int) -> None:
        below = self._threshold(state) - value
        if state.low_start_ns == UNKNOWN:
            if below <= 0:
                return
            state.low_start_ns = begin_ns
        state.low_sum += below
        state.since_cells += 1
        state.since_active += value
        if state.low_sum >= state.low_peak:
            state.low_peak = state.low_sum
            state.low_end_ns = begin_ns + CELL_NS
            state.low_cells += state.since_cells
            state.low_active += state.since_active
            state.since_cells = state.since_active = 0
        elif state.low_sum <= 0 and not state.dropped:
            state.forget_low()

    def _begin_if_low(self, state: DropState) -> None:
        if state.low_cells < self.min_duration or state.since_cells:
            return
        threshold = self._threshold(state)
        if sum(state.window) < threshold * len(state.window):
            state.told_threshold, state.told_baseline = threshold, self._baseline(state)
            state.dropped = True

    def _end_if_over(self, state: DropState) -> Drop | None:
        if state.since_cells < self.close_after:
            return None
        over = state.as_drop(ongoing=False)
        state.forget_low()
        return over

    def _learn(self, state: DropState, value: int) -> None:
        """The baseline learns from what is no drop, in blocks."""
        state.block_sum += value
        state.block_cells += 1
        if state.block_cells == self.block:
            state.blocks.append(state.block_sum // self.block)
            del state.blocks[: -self.blocks]
            state.block_sum = state.block_cells = 0
