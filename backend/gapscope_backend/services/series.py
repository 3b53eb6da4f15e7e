"""Series of a host over a span: N buckets with minimum, mean, maximum and idle share, or the samples when few.

One answer has one mode: samples when every series has at most two of them a bucket, else buckets for all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from gapscope_agent.catalog import BY_NAME
from gapscope_agent.wire import DecodedGroup
from gapscope_backend.errors import MalformedError, UnprocessableError
from gapscope_backend.services.buckets import Collector, Floats, Span
from gapscope_backend.services.missing import NOT_RECEIVED, Absence, MissingTracker
from gapscope_backend.services.tier_series import TierGrid, tier_for
from gapscope_backend.store.chunks.rollup import IDLE_BELOW, Rolled
from gapscope_backend.store.database import Database
from gapscope_backend.store.latest import decimals_of
from gapscope_backend.store.models import Host
from gapscope_backend.store.reader import Selection, read_series, read_tier
from gapscope_backend.store.tiers import Tier

MAX_BUCKETS = 5000
MAX_SERIES = 4000
MAX_POINTS = 1_000_000
RAW_SAMPLES_PER_BUCKET = 2

Key = tuple[str, str]


@dataclass(frozen=True)
class SeriesQuery:
    """What to read. ``idle_below`` is the ratio under which a sample counts as idle."""

    start_ns: int
    end_ns: int
    buckets: int
    selection: Selection
    idle_below: float


@dataclass(frozen=True)
class SeriesResult:
    """One series; arrays of equal length, NaN where there is no sample. Raw: the three values are one array."""

    entity: str
    metric: str
    time_ms: Floats
    mean: Floats
    minimum: Floats
    maximum: Floats
    idle_share: Floats | None
    missing: list[Absence]


@dataclass(frozen=True)
class SeriesSet:
    """All series of an answer; ``bucket_ns`` is None for samples."""

    bucket_ns: int | None
    series: list[SeriesResult]


class _Gatherer:
    """Feeds decoded groups into one collector a series, within the limits of one answer."""

    def __init__(self, query: SeriesQuery, span: Span, data_end_ns: int) -> None:
        self._query = query
        self._span = span
        self._data_end_ns = data_end_ns
        self._collectors: dict[Key, tuple[Collector, MissingTracker]] = {}

    def add(self, groups: list[DecodedGroup]) -> None:
        for group in groups:
            inside = slice(*np.searchsorted(group.times, (self._query.start_ns, self._query.end_ns)))
            for metric, values in group.values.items():
                collector, tracker = self._of((group.entity, metric))
                collector.add(group.times[inside], values[inside])
                tracker.add(group.times, group.missing[metric])

    def expect(self, keys: list[Key]) -> None:
        """Series that are answered even if the span holds nothing of them."""
        for key in keys:
            self._of(key)

    def result(self) -> SeriesSet:
        raw = all(collector.is_raw for collector, _ in self._collectors.values())
        made = [self._raw(key) if raw else self._bucketed(key) for key in sorted(self._collectors)]
        return SeriesSet(None if raw else self._span.bucket_ns, made)

    def _of(self, key: Key) -> tuple[Collector, MissingTracker]:
        if key not in self._collectors:
            check_room(len(self._collectors) + 1, self._query.buckets)
            metric = BY_NAME[key[1]]
            idle_below = self._query.idle_below if metric.kind == "ratio" else None
            tracker = MissingTracker(self._query.start_ns, self._data_end_ns, int(metric.period_seconds * 1e9))
            limit = RAW_SAMPLES_PER_BUCKET * self._query.buckets
            self._collectors[key] = (Collector(self._span, limit, idle_below), tracker)
        return self._collectors[key]

    def _raw(self, key: Key) -> SeriesResult:
        collector, tracker = self._collectors[key]
        times, values = collector.samples()
        values = _rounded(key[1], values)
        idle: Floats | None = None
        if BY_NAME[key[1]].kind == "ratio":
            idle = np.where(np.isnan(values), np.nan, values < self._query.idle_below).astype(np.float64)
        return SeriesResult(*key, np.round(times / 1e6, 3), values, values, values, idle, tracker.finish())

    def _bucketed(self, key: Key) -> SeriesResult:
        collector, tracker = self._collectors[key]
        folded = collector.fold()
        mean, low, high = (_rounded(key[1], v) for v in (folded.mean, folded.minimum, folded.maximum))
        return SeriesResult(*key, self._span.starts_ms, mean, low, high, folded.idle_share, tracker.finish())


def check_room(count: int, buckets: int) -> None:
    """Raise UnprocessableError for more series than one answer holds."""
    if count > MAX_SERIES or count * buckets > MAX_POINTS:
        raise UnprocessableError(
            f"more than {min(MAX_SERIES, MAX_POINTS // buckets)} series of {buckets} buckets match; name fewer "
            "entities or metrics, or ask for fewer buckets",
            "entity",
        )


async def query_series(database: Database, host: Host, query: SeriesQuery, now_ns: int, live: bool) -> SeriesSet:
    """Series of a host. Raises UnprocessableError for more than fits into one answer.

    The end of a live host's data is what it has sent so far: the batch that is still open is not missing.
    """
    _check(query)
    data_end_ns = max(query.start_ns, min(query.end_ns, host.last_data_ns if live else now_ns))
    tier = await tier_for(database, host, query.start_ns, query.end_ns, query.buckets)
    if tier is not None:
        return await _query_tier(database, host, query, data_end_ns, tier)
    gatherer = _Gatherer(query, Span(query.start_ns, query.end_ns, query.buckets), data_end_ns)
    pages = read_series(database, host.id, query.start_ns, query.end_ns, query.selection)
    async with aclosing(pages):
        async for page in pages:
            await asyncio.to_thread(gatherer.add, page.groups)
    gatherer.expect(_named(query.selection))
    return await asyncio.to_thread(gatherer.result)


async def _query_tier(database: Database, host: Host, query: SeriesQuery, data_end_ns: int, tier: Tier) -> SeriesSet:
    parts = await read_tier(database, host.id, query.start_ns, query.end_ns, query.selection, tier)
    check_room(sum(len(part.rows) for part in parts), query.buckets)
    grid = TierGrid(query.start_ns, query.end_ns, query.buckets, tier)
    return await asyncio.to_thread(_of_tier, parts, grid, query, data_end_ns)


def _of_tier(parts: Sequence[Rolled], grid: TierGrid, query: SeriesQuery, data_end_ns: int) -> SeriesSet:
    counts_idle = query.idle_below == IDLE_BELOW
    found: dict[Key, SeriesResult] = {}
    for part in parts:
        for key, folded in grid.fold(part, data_end_ns):
            mean, low, high = (_rounded(key[1], v) for v in (folded.mean, folded.minimum, folded.maximum))
            idle = folded.idle_share if counts_idle else None
            found[key] = SeriesResult(*key, grid.starts_ms, mean, low, high, idle, folded.missing)
    for key in _named(query.selection):
        if key not in found:
            found[key] = _empty(key, grid, query.start_ns, data_end_ns)
    return SeriesSet(grid.bucket_ns, [found[key] for key in sorted(found)])


def _empty(key: Key, grid: TierGrid, start_ns: int, data_end_ns: int) -> SeriesResult:
    """A series that the request names and the span does not hold."""
    nothing = np.full(grid.count, np.nan)
    idle = nothing if BY_NAME[key[1]].kind == "ratio" else None
    missing = [Absence(start_ns, data_end_ns, NOT_RECEIVED)] if data_end_ns > start_ns else []
    return SeriesResult(*key, grid.starts_ms, nothing, nothing, nothing, idle, missing)


def _check(query: SeriesQuery) -> None:
    if not 1 <= query.buckets <= MAX_BUCKETS:
        raise MalformedError(f"buckets must be 1 to {MAX_BUCKETS}, not {query.buckets}", "buckets")
    check_metrics(query.selection.metrics)


def check_metrics(names: frozenset[str]) -> None:
    """Raise MalformedError, with the nearest name, for a metric that the catalogue does not know."""
    for metric in sorted(names - BY_NAME.keys()):
        near = get_close_matches(metric, BY_NAME, n=1)
        hint = f"did you mean {near[0]}?" if near else "GET /api/v1/catalog lists them"
        raise MalformedError(f"there is no metric {metric[:100]!r}; {hint}", "metric")


def _named(selection: Selection) -> list[Key]:
    """Series that the request names in full."""
    exact = [pattern for pattern in selection.entities if not pattern.endswith("*")]
    return [
        (entity, metric)
        for entity in exact
        for metric in selection.metrics
        if BY_NAME[metric].entity == entity.partition(":")[0]
    ]


def _rounded(metric: str, values: Floats) -> Floats:
    return np.round(values, decimals_of(metric))
