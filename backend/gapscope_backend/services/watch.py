"""The watch over one host: its GPUs' drop detectors fed from the store, and the faults that go on costing.

Both give *episodes*: a stretch of one GPU that may make an incident. All of it is a function of the stored data, so
the same data watched twice gives the same episodes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapscope_backend.analysis.causes.cause import FAULT
from gapscope_backend.analysis.counters import GRAPHICS_SOURCES, held_cells, read_counters
from gapscope_backend.analysis.drops import DEFAULTS, Drop, DropSettings, DropState, advance
from gapscope_backend.analysis.gaps import Flags
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import CELL_NS, LAG_METRIC, Floats, Gpu, Window
from gapscope_backend.services.windows import GPU_KINDS, load_window
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Host
from gapscope_backend.store.reader import Selection

DROP = "drop"
COSTLY = "costly"
HOLDERS = "gpu_processes_count"

_SECOND_NS = 1_000_000_000
CONTEXT_NS = 10 * _SECOND_NS
"""Read before the cells that are new: slow series reach back, and the counters' lag is a median of some estimates."""
MAX_OVER = 50
STIRRED_NS = 120 * _SECOND_NS
"""So long after a drop is over its host's state is written down with all data: alerts count how long it is clear."""
LATENESS_NS = 1_500_000_000
"""How far behind the newest data the watermark stays: the counters' lag, and one period of data that comes at 1 Hz."""

_SELECTION = Selection(("gpu:*",), frozenset({*GRAPHICS_SOURCES, HOLDERS, LAG_METRIC}))


@dataclass(frozen=True)
class CostSettings:
    """When a fault that costs steadily makes an incident although the GPU never dropped.

    A fault row that takes at least ``share`` of each rolling verdict for ``seconds``, until it takes less than
    ``end_share`` of one.
    """

    share: float = 0.5
    end_share: float = 0.25
    seconds: float = 120.0


@dataclass(frozen=True)
class Episode:
    """A stretch of one GPU, ns since the epoch: a drop, or a fault that cost steadily. ``cause`` where it is known."""

    gpu: str
    kind: str
    start_ns: int
    end_ns: int
    ongoing: bool
    cause: str = ""


@dataclass
class Watch:
    """What is remembered of a host. ``costly`` holds the costly stretches by GPU and cause, ``over`` the newest drops
    that ended, as plain data: alerts tell of them too, whatever became of them here."""

    watermark_ns: int
    gpus: dict[str, DropState] = field(default_factory=dict)
    costly: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    over: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        gpus = {key: state.to_json() for key, state in self.gpus.items()}
        return {"gpus": gpus, "costly": self.costly, "over": self.over}

    @staticmethod
    def from_json(watermark_ns: int, data: Mapping[str, Any]) -> Watch:
        """From plain data."""
        states = {key: DropState.from_json(state) for key, state in data.get("gpus", {}).items()}
        costly = {gpu: {cause: list(span) for cause, span in of.items()} for gpu, of in data.get("costly", {}).items()}
        return Watch(watermark_ns, states, costly, [dict(drop) for drop in data.get("over", [])])

    def copy(self) -> Watch:
        """The same, sharing nothing."""
        return Watch.from_json(self.watermark_ns, self.to_json())

    def note_over(self, drops: Iterable[Mapping[str, Any]]) -> None:
        """Remember drops that ended. One that was seen before, whole or in part, is not another one."""
        for drop in drops:
            if not any(_same_drop(drop, known) for known in self.over):
                self.over = [*self.over, dict(drop)][-MAX_OVER:]

    @property
    def drops(self) -> tuple[Any, ...]:
        """Something else whenever a drop began, went on or ended, and for a while after that with all data."""
        current = tuple(
            (key, state.low_start_ns, state.low_end_ns) for key, state in self.gpus.items() if state.dropped
        )
        last_ns = max((drop["noted_ns"] for drop in self.over), default=0)
        return (current, len(self.over), last_ns, max(0, last_ns + STIRRED_NS - self.watermark_ns))


def _same_drop(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(one["gpu"] == other["gpu"] and one["start_ns"] < other["end_ns"] and other["start_ns"] < one["end_ns"])


def cell_floor(time_ns: int) -> int:
    """Start of the cell that holds a moment; all watches count cells from the epoch."""
    return time_ns // CELL_NS * CELL_NS


async def advance_watch(
    database: Database, host: Host, watch: Watch, until_ns: int, settings: DropSettings = DEFAULTS
) -> list[Episode]:
    """Feed the detectors up to a watermark; the drops that ended on the way and those that go on."""
    until_ns = cell_floor(until_ns)
    if until_ns <= watch.watermark_ns:
        return []
    start_ns, end_ns = watch.watermark_ns - CONTEXT_NS, until_ns + LATENESS_NS
    window = await load_window(database, host, start_ns, end_ns, _SELECTION, with_stacks=False, kinds=GPU_KINDS)
    return await asyncio.to_thread(_feed, watch, window, until_ns, settings)


def _feed(watch: Watch, window: Window, until_ns: int, settings: DropSettings) -> list[Episode]:
    found: list[Episode] = []
    complete = (until_ns - window.start_ns) // CELL_NS
    for gpu in window.gpus:
        state = watch.gpus.setdefault(gpu.key, DropState(watermark_ns=watch.watermark_ns))
        active, owned = _cells(window, gpu, state.owned)
        drops = advance(state, window.start_ns, active[:complete], owned[:complete], settings)
        found += [_episode(gpu.key, drop) for drop in drops]
        watch.note_over(_plain_drop(gpu.key, drop, until_ns) for drop in drops)
        if state.current is not None:
            found.append(_episode(gpu.key, state.current))
    watch.watermark_ns = until_ns
    return found


def _cells(window: Window, gpu: Gpu, owned: bool) -> tuple[Floats, Flags]:
    """Activity, and whether somebody holds the GPU: as last told, first as before the window."""
    holders = held_cells(window, gpu.key, HOLDERS)
    told = np.where(~np.isnan(holders), np.arange(holders.size), -1)
    last = np.maximum.accumulate(told)
    held = np.where(last >= 0, holders[np.maximum(last, 0)] >= 1, owned)
    return read_counters(window, gpu).graphics, held


def _plain_drop(gpu: str, drop: Drop, noted_ns: int) -> dict[str, Any]:
    return {
        "gpu": gpu,
        "start_ns": drop.start_ns,
        "end_ns": drop.end_ns,
        "measured_ns": drop.measured_ns,
        "active_ratio": drop.active_ratio,
        "threshold_ratio": drop.threshold_ratio,
        "noted_ns": noted_ns,
    }


def _episode(gpu: str, drop: Drop) -> Episode:
    return Episode(gpu, DROP, drop.start_ns, drop.end_ns, drop.ongoing)


def weigh_costs(watch: Watch, verdict: Verdict, settings: CostSettings) -> list[Episode]:
    """Take a rolling verdict in; the stretches in which one fault has cost enough for long enough."""
    found: list[Episode] = []
    for gpu in verdict.gpus:
        before, kept = watch.costly.get(gpu.gpu, {}), {}
        shares = {row.cause: row.share for row in gpu.ledger if row.row_class == FAULT}
        for cause in sorted(shares.keys() | before.keys()):
            share, known = shares.get(cause, 0.0), before.get(cause)
            goes_on = known is not None and share >= settings.end_share and verdict.start_ns <= known[1]
            if goes_on or share >= settings.share:
                kept[cause] = _stretch(verdict, share, known if goes_on else None)
            for told, ongoing in ((None if goes_on else known, False), (kept.get(cause), True)):
                if told and told[1] - told[0] >= settings.seconds * _SECOND_NS:
                    found.append(Episode(gpu.gpu, COSTLY, told[0], told[1], ongoing, cause))
        watch.costly[gpu.gpu] = kept
    return found


def _stretch(verdict: Verdict, share: float, known: list[int] | None) -> list[int]:
    """A costly stretch with one more verdict: first and last moment, highest share in millionths.

    A share below the highest is read as the end of the stretch inside the window: at 60 % after 100 % it has been over
    for the last 40 % of it.
    """
    first_ns, last_ns, peak = known or [verdict.start_ns, verdict.start_ns, 0]
    peak = max(peak, round(share * 1e6))
    reach_ns = verdict.start_ns + round((verdict.end_ns - verdict.start_ns) * share * 1e6 / peak)
    return [first_ns, max(last_ns, min(reach_ns, verdict.end_ns)), peak]
