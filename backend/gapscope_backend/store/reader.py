"""The one way by which stored samples are read.

Everything above asks here for series or stacks of a host and a span, and cannot tell whether they lie in hot batches,
in chunks, or half in each. They come slot by slot, oldest first, each series once a slot, decoded off the event loop;
so what is held at a time is what some slots hold, whatever the span.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Select, func, or_, select, true
from sqlalchemy.ext.asyncio import AsyncSession

from gapscope_agent.wire import MAX_SPAN_NS, DecodedGroup, Group
from gapscope_agent.wire import Entity as WireEntity
from gapscope_backend.store.chunk_rows import ChunkKey, decode_chunk
from gapscope_backend.store.chunks.gather import Gathered, gather
from gapscope_backend.store.chunks.rollup import Rolled, combine, roll
from gapscope_backend.store.chunks.sets import MetricSet, group_of
from gapscope_backend.store.chunks.stacks import Frames, StackTable, decode_stacks, join_stacks
from gapscope_backend.store.compaction import slot_number
from gapscope_backend.store.database import Database
from gapscope_backend.store.hot import unpack
from gapscope_backend.store.models import Chunk, IngestHot, StackChunk
from gapscope_backend.store.slices import slices
from gapscope_backend.store.stack_rows import load_frames
from gapscope_backend.store.tiers import LONGEST_NS, RAW, SLOT_NS, TIERS, Tier

SLOTS_AT_ONCE = 4
BATCHES_AT_ONCE = 64
BYTES_AT_ONCE = 16 * 1024 * 1024


@dataclass(frozen=True)
class Selection:
    """Which series: entity patterns (an exact key, or a prefix that ends in ``*``) and metrics, empty for all."""

    entities: tuple[str, ...] = ("*",)
    metrics: frozenset[str] = frozenset()

    def takes_entity(self, key: str) -> bool:
        """Tell whether a pattern takes this entity."""
        return any(
            key.startswith(pattern[:-1]) if pattern.endswith("*") else key == pattern for pattern in self.entities
        )

    def takes_row(self, row: tuple[str, str]) -> bool:
        """Tell whether it takes a series (entity, metric)."""
        return (not self.metrics or row[1] in self.metrics) and self.takes_entity(row[0])

    def takes_group(self, group: Group) -> bool:
        """Tell whether it takes a series of a group from the wire."""
        return (not self.metrics or not self.metrics.isdisjoint(group.metrics)) and any(
            map(self.takes_entity, group.entities)
        )

    def chunks(self) -> ColumnElement[bool]:
        """The chunks that may hold such entities."""
        return or_(*(_chunks_of(pattern) for pattern in self.entities))


@dataclass(frozen=True)
class SeriesPage:
    """Decoded groups of a slot, and what was told of entities whose facts change."""

    groups: list[DecodedGroup]
    entities: list[WireEntity]


async def read_series(
    database: Database, host_id: int, start_ns: int, end_ns: int, selection: Selection
) -> AsyncGenerator[SeriesPage, None]:
    """The selected series of a host, a page a slot; the outermost slots may reach beyond the span."""
    span = Span(host_id, start_ns, end_ns)
    async with database.read_samples() as session:
        rows = select(Chunk).where(Chunk.tier == RAW, selection.chunks())
        gathered = Gathered()
        async for low_ns, high_ns in _pages(session, span, Chunk):
            for row in await session.scalars(_between(rows, Chunk, span, low_ns, high_ns)):
                sets = await database.metric_sets.load(session, [row.metric_set_id])
                key = ChunkKey(RAW, row.t0_ns, row.t1_ns, row.group_id)
                content = await asyncio.to_thread(decode_chunk, key, sets[row.metric_set_id], row.data, row.codec)
                gathered.add_chunk((row.t0_ns, row.group_id), content.blocks, content.told)
            await _gather_hot(session, span, low_ns, high_ns, gathered, selection.takes_group, stacks=False)
            for slot_ns in gathered.slots(before_ns=high_ns):
                yield await asyncio.to_thread(_series_page, gathered, slot_ns, selection, database.reach)
        for slot_ns in gathered.slots(before_ns=end_ns):
            yield await asyncio.to_thread(_series_page, gathered, slot_ns, selection, database.reach)


async def read_stacks(
    database: Database, host_id: int, start_ns: int, end_ns: int
) -> AsyncGenerator[StackTable[Frames], None]:
    """The stack samples of a host, a table a slot, in order of time; the outermost may reach beyond the span."""
    span = Span(host_id, start_ns, end_ns)
    async with database.read_samples() as session:
        gathered = Gathered()
        async for low_ns, high_ns in _pages(session, span, StackChunk):
            rows = (await session.scalars(_between(select(StackChunk), StackChunk, span, low_ns, high_ns))).all()
            tables = [(row.t0_ns, row.process_id, decode_stacks(row.data, row.process_id)) for row in rows]
            frames = await load_frames(session, host_id, sorted({n for _, _, table in tables for n in table.stacks}))
            for slot_ns, pid, table in tables:
                known = [frames[number] for number in table.stacks]
                gathered.add_stacks((slot_ns, pid), StackTable(table.rows, known, table.names))
            await _gather_hot(session, span, low_ns, high_ns, gathered, _nothing, stacks=True)
            for slot_ns in gathered.slots(before_ns=high_ns):
                yield await asyncio.to_thread(_stack_table, gathered, slot_ns, database.reach)
        for slot_ns in gathered.slots(before_ns=end_ns):
            yield await asyncio.to_thread(_stack_table, gathered, slot_ns, database.reach)


async def read_tier(
    database: Database, host_id: int, start_ns: int, end_ns: int, selection: Selection, tier: Tier
) -> list[Rolled]:
    """Buckets of the selected series, each series in one place: those of the tier's chunks and of the hot batches."""
    span = Span(host_id, start_ns, end_ns)
    query = select(Chunk).where(
        Chunk.host_id == host_id,
        Chunk.tier == tier.seconds,
        Chunk.t0_ns > start_ns - LONGEST_NS,
        Chunk.t0_ns < end_ns,
        Chunk.t1_ns > start_ns,
        selection.chunks(),
    )
    parts: list[Rolled] = []
    gathered = Gathered()
    async with database.read_samples() as session:
        found = await session.stream_scalars(query.execution_options(yield_per=BATCHES_AT_ONCE))
        async for rows in found.partitions():
            sets = await database.metric_sets.load(session, [row.metric_set_id for row in rows])
            parts += await asyncio.to_thread(_rolled, rows, sets, selection)
        await _gather_hot(session, span, start_ns - MAX_SPAN_NS, end_ns, gathered, selection.takes_group, stacks=False)
    return await asyncio.to_thread(_with_hot, parts, gathered, selection, tier, database.reach)


async def has_samples(database: Database, host_id: int, start_ns: int, end_ns: int) -> bool:
    """Whether each slot of a span still has its samples, in chunks or hot batches."""
    span = Span(host_id, start_ns, end_ns)
    async with database.read() as session:
        starts = await _starts(session, span, Chunk)
    first = start_ns // SLOT_NS
    return len(starts) >= (end_ns - 1) // SLOT_NS - first + 1


async def finest_tier(database: Database, host_id: int, start_ns: int, end_ns: int) -> Tier:
    """The finest tier that reaches as far back in the span as any does: a finer one is forgotten earlier."""
    query = (
        select(Chunk.tier, func.min(Chunk.t0_ns))
        .where(Chunk.host_id == host_id, Chunk.tier > RAW, Chunk.t0_ns > start_ns - LONGEST_NS)
        .where(Chunk.t0_ns < end_ns, Chunk.t1_ns > start_ns)
        .group_by(Chunk.tier)
    )
    async with database.read() as session:
        firsts: dict[int, int] = {row[0]: row[1] for row in await session.execute(query)}
    reach = min(firsts.values(), default=0) + LONGEST_NS
    return next((tier for tier in TIERS if firsts.get(tier.seconds, reach + 1) <= reach), TIERS[-1])


@dataclass(frozen=True)
class Span:
    """``[start, end)`` of a host."""

    host_id: int
    start_ns: int
    end_ns: int


AnyChunk = type[Chunk] | type[StackChunk]
Reach = tuple[int, int] | None


async def _pages(session: AsyncSession, span: Span, chunk: AnyChunk) -> AsyncIterator[tuple[int, int]]:
    """Spans [low, high) of some slots each that hold something, oldest first."""
    ordered = sorted(await _starts(session, span, chunk))
    for some in slices(ordered, SLOTS_AT_ONCE):
        yield some[0], some[-1] + SLOT_NS


async def _starts(session: AsyncSession, span: Span, chunk: AnyChunk) -> set[int]:
    """Slots in which a raw chunk or a hot batch of the span starts."""
    first_ns = span.start_ns - SLOT_NS
    chunks = (
        select(chunk.t0_ns)
        .distinct()
        .where(chunk.host_id == span.host_id, chunk.t0_ns > first_ns, chunk.t0_ns < span.end_ns)
    )
    if chunk is Chunk:
        chunks = chunks.where(Chunk.tier == RAW)
    hot = select(slot_number(IngestHot.t0_ns)).distinct().where(*_hot(span))
    return {
        *await session.scalars(chunks),
        *(number * SLOT_NS for number in await session.scalars(hot)),
    }


def _between(query: Select[Any], chunk: AnyChunk, span: Span, low_ns: int, high_ns: int) -> Select[Any]:
    start_ns, end_ns = max(low_ns, span.start_ns - SLOT_NS + 1), min(high_ns, span.end_ns)
    return query.where(chunk.host_id == span.host_id, chunk.t0_ns >= start_ns, chunk.t0_ns < end_ns)


def _hot(span: Span) -> tuple[ColumnElement[bool], ...]:
    """The batches that touch a span. A batch spans at most MAX_SPAN_NS."""
    return (
        IngestHot.host_id == span.host_id,
        IngestHot.t0_ns > span.start_ns - MAX_SPAN_NS,
        IngestHot.t0_ns < span.end_ns,
        IngestHot.t1_ns > span.start_ns,
    )


async def _gather_hot(
    session: AsyncSession,
    span: Span,
    low_ns: int,
    high_ns: int,
    gathered: Gathered,
    wants: Callable[[Group], bool],
    *,
    stacks: bool,
) -> None:
    """Sort in the batches that start within [low, high)."""
    query = (
        select(IngestHot.encoding, IngestHot.payload)
        .where(*_hot(span), IngestHot.t0_ns >= low_ns, IngestHot.t0_ns < high_ns)
        .order_by(IngestHot.t0_ns, IngestHot.run_id, IngestHot.sequence)
        .execution_options(yield_per=BATCHES_AT_ONCE)
    )
    page: list[tuple[str, bytes]] = []
    held = 0
    async for encoding, payload in await session.stream(query):
        page.append((encoding, payload))
        held += len(payload)
        if len(page) >= BATCHES_AT_ONCE or held >= BYTES_AT_ONCE:
            await asyncio.to_thread(_sort, page, gathered, wants, stacks)
            page, held = [], 0
    if page:
        await asyncio.to_thread(_sort, page, gathered, wants, stacks)


def _sort(page: Sequence[tuple[str, bytes]], gathered: Gathered, wants: Callable[[Group], bool], stacks: bool) -> None:
    gather((unpack(encoding, payload) for encoding, payload in page), gathered, wants, stacks)


def _nothing(_group: Group) -> bool:
    return False


def _series_page(gathered: Gathered, slot_ns: int, selection: Selection, reach: Reach) -> SeriesPage:
    blocks, told = gathered.take_blocks(slot_ns)
    metrics = selection.metrics or None
    views = [view for block in blocks for view in block.views(metrics, selection.takes_entity)]
    return SeriesPage([_within(view, reach) for view in views] if reach else views, told)


def _within(view: DecodedGroup, reach: tuple[int, int]) -> DecodedGroup:
    """The same samples without the values outside of a reach; their places stay, runs of missing ones count by them."""
    outside = (view.times < reach[0]) | (view.times >= reach[1])
    if not outside.any():
        return view
    return replace(view, values={name: np.where(outside, np.nan, values) for name, values in view.values.items()})


def _stack_table(gathered: Gathered, slot_ns: int, reach: Reach) -> StackTable[Frames]:
    table = join_stacks(gathered.take_stacks(slot_ns))
    if reach is None:
        return table
    low, high = np.searchsorted(table.rows[:, 0], reach).tolist()
    return replace(table, rows=table.rows[low:high])


def _rolled(rows: Sequence[Chunk], sets: Mapping[int, MetricSet], selection: Selection) -> list[Rolled]:
    """The selected series of a tier's chunks."""
    found: list[Rolled] = []
    for row in rows:
        key = ChunkKey(row.tier, row.t0_ns, row.t1_ns, row.group_id)
        found += decode_chunk(key, sets[row.metric_set_id], row.data, row.codec, takes=selection.takes_row).rolled
    return found


def _chosen(parts: Sequence[Rolled], selection: Selection) -> list[Rolled]:
    numbers = [[at for at, row in enumerate(part.rows) if selection.takes_row(row)] for part in parts]
    return [part.select(rows) for part, rows in zip(parts, numbers, strict=True) if rows]


def _with_hot(
    parts: Sequence[Rolled], gathered: Gathered, selection: Selection, tier: Tier, reach: Reach
) -> list[Rolled]:
    hot = [roll(block, tier.width_ns) for slot_ns in gathered.slots() for block in gathered.take_blocks(slot_ns)[0]]
    found = combine([*parts, *_chosen(hot, selection)])
    return [rolled.within(reach[0] - tier.width_ns + 1, reach[1]) for rolled in found] if reach else found


def _chunks_of(pattern: str) -> ColumnElement[bool]:
    """The chunks of the group, or groups, in which entities of a pattern live."""
    prefix = pattern.removesuffix("*")
    kind, colon, _ = prefix.partition(":")
    if pattern.endswith("*") and not colon:
        return true()
    if pattern.endswith("*") and kind == "gpu":
        return Chunk.group_id.startswith(prefix, autoescape=True)
    return Chunk.group_id == group_of(prefix)
