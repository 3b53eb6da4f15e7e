"""Stored series as rows of a long table, one stretch of time after the other, whatever the span.

What is held at a time is what a host has in one stretch (a slot of samples, an hour or a day of a tier). Each stretch
is read in a snapshot of its own and is in memory before its first row is given away, so that a slow reader holds no
connection.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gapscope_agent.catalog import BY_NAME
from gapscope_agent.wire import DecodedGroup, MissingRun
from gapscope_backend.errors import MalformedError
from gapscope_backend.store.chunks.rollup import Rolled
from gapscope_backend.store.database import Database
from gapscope_backend.store.latest import decimals_of
from gapscope_backend.store.occupied import next_occupied
from gapscope_backend.store.reader import Selection, read_series, read_tier
from gapscope_backend.store.tiers import RAW, SLOT_NS, TIERS, Tier

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

TIER_NAMES: Mapping[str, Tier | None] = {"raw": None, "10s": TIERS[0], "5min": TIERS[1]}
"""What an export may be made of: the samples, or the buckets of a tier."""
SAMPLE_COLUMNS = ("value",)
BUCKET_COLUMNS = ("count", "min", "mean", "max", "idle_share")


@dataclass(frozen=True)
class ExportQuery:
    """Rows of [start, end) of a host. ``tier`` None: samples; else buckets that touch the span."""

    host_id: int
    start_ns: int
    end_ns: int
    selection: Selection
    tier: Tier | None


@dataclass(frozen=True)
class SeriesRows:
    """Rows of one series: ``times`` int64[n] ns ascending; ``columns`` of the same length, NaN where there is no
    value; ``reasons`` says why there is none, by row."""

    entity: str
    metric: str
    times: Ints
    columns: Mapping[str, Floats | Ints]
    reasons: Mapping[int, str]

    @property
    def unit(self) -> str:
        """The catalogue's unit."""
        return BY_NAME[self.metric].unit


def tier_named(name: str) -> Tier | None:
    """The tier of a name in ``TIER_NAMES``. Raises MalformedError for another."""
    if name not in TIER_NAMES:
        raise MalformedError(f"there is no tier {name[:40]!r}; want one of {', '.join(TIER_NAMES)}", "tier")
    return TIER_NAMES[name]


async def read_rows(database: Database, query: ExportQuery) -> AsyncGenerator[SeriesRows, None]:
    """All rows, by stretch, then by series; within a series ascending in time."""
    tier = query.tier
    width_ns = SLOT_NS if tier is None else tier.merged_ns
    seconds = RAW if tier is None else tier.seconds
    at = query.start_ns // width_ns * width_ns
    while (found := await next_occupied(database, query.host_id, seconds, width_ns, at, query.end_ns)) is not None:
        at = found + width_ns
        if tier is None:
            pieces = await _samples(database, query, found, at)
        else:
            pieces = await _buckets(database, query, tier, found, at)
        for piece in pieces:
            yield piece


async def _samples(database: Database, query: ExportQuery, low_ns: int, high_ns: int) -> list[SeriesRows]:
    start_ns, end_ns = max(low_ns, query.start_ns), min(high_ns, query.end_ns)
    found: list[SeriesRows] = []
    async with aclosing(read_series(database, query.host_id, start_ns, end_ns, query.selection)) as pages:
        async for page in pages:
            for group in page.groups:
                found += _of_group(group, start_ns, end_ns)
    return sorted(found, key=_series)


async def _buckets(database: Database, query: ExportQuery, tier: Tier, low_ns: int, high_ns: int) -> list[SeriesRows]:
    start_ns = max(low_ns, query.start_ns // tier.width_ns * tier.width_ns)
    end_ns = min(high_ns, query.end_ns)
    parts = await read_tier(database, query.host_id, start_ns, end_ns, query.selection, tier)
    return sorted((rows for part in parts for rows in _of_part(part, start_ns, end_ns)), key=_series)


def _series(rows: SeriesRows) -> tuple[str, str, int]:
    return rows.entity, rows.metric, int(rows.times[0])


def _of_group(group: DecodedGroup, start_ns: int, end_ns: int) -> Iterator[SeriesRows]:
    low, high = np.searchsorted(group.times, (start_ns, end_ns)).tolist()
    if low == high:
        return
    for metric, values in group.values.items():
        columns = {"value": np.round(values[low:high], decimals_of(metric))}
        reasons = _reasons(group.missing[metric], low, high)
        yield SeriesRows(group.entity, metric, group.times[low:high], columns, reasons)


def _of_part(part: Rolled, start_ns: int, end_ns: int) -> Iterator[SeriesRows]:
    low, high = np.searchsorted(part.times, (start_ns, end_ns)).tolist()
    if low == high:
        return
    for row, (entity, metric) in enumerate(part.rows):
        count, least, most, total, idle = part.stats[:, row, low:high]
        known, decimals = BY_NAME[metric], decimals_of(metric)
        filled = np.where(count > 0, count, np.nan)
        low_value, mean, high_value = (
            np.round(quanta / divisor * known.quantum, decimals)
            for quanta, divisor in ((least, filled / filled), (total, filled), (most, filled / filled))
        )
        share = idle / filled if known.kind == "ratio" else np.full(count.size, np.nan)
        columns = dict(zip(BUCKET_COLUMNS, (count, low_value, mean, high_value, share), strict=True))
        reasons = _reasons(part.missing.get(row, ()), low, high)
        yield SeriesRows(entity, metric, part.times[low:high], columns, reasons)


def _reasons(runs: Sequence[MissingRun], low: int, high: int) -> dict[int, str]:
    return {at - low: run.reason for run in runs for at in range(max(run.start, low), min(run.start + run.count, high))}
