"""The one way by which stored samples are read.

Everything above asks here for columns or stacks of a host and a span and gets them in pages, oldest batch first,
decoded off the event loop. Today they all come from hot batches; chunks and tiers join here, unseen from above.
Pages bound the memory: no more than ``PAGE_BYTES`` of payload is held at a time, whatever the span.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from sqlalchemy import select

from gapscope_agent.wire import MAX_SPAN_NS, DecodedGroup, Group, StackSample, WireFrame, decode_group
from gapscope_agent.wire import Entity as WireEntity
from gapscope_backend.store.database import Database
from gapscope_backend.store.hot import unpack
from gapscope_backend.store.models import IngestHot

PAGE_ROWS = 64
PAGE_BYTES = 16 * 1024 * 1024

Packed = tuple[str, bytes]
Parsed = TypeVar("Parsed")


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


class SeriesBatch(msgspec.Struct):
    """The part of a batch that series need; msgspec skips the rest unread."""

    groups: list[Group] = []
    entities: list[WireEntity] = []


class StackBatch(msgspec.Struct):
    """The part of a batch that stacks need."""

    frames: list[WireFrame] = []
    stacks: list[list[int]] = []
    samples: list[StackSample] = []


@dataclass(frozen=True)
class SeriesPage:
    """Decoded groups of some batches, and what those batches told of their entities."""

    groups: list[DecodedGroup]
    entities: list[WireEntity]


_SERIES = msgspec.msgpack.Decoder(SeriesBatch)
_STACKS = msgspec.msgpack.Decoder(StackBatch)


async def read_series(
    database: Database, host_id: int, start_ns: int, end_ns: int, selection: Selection
) -> AsyncGenerator[SeriesPage, None]:
    """Groups of the selected series of all batches that touch the span; the outermost may reach beyond it."""
    async with aclosing(_pages(database, host_id, start_ns, end_ns)) as pages:
        async for page in pages:
            yield await asyncio.to_thread(_decode_series, page, selection)


async def read_stacks(
    database: Database, host_id: int, start_ns: int, end_ns: int
) -> AsyncGenerator[list[StackBatch], None]:
    """Stacks of all batches that touch the span, one element a batch: frames are interned per batch."""
    async with aclosing(_pages(database, host_id, start_ns, end_ns)) as pages:
        async for page in pages:
            yield await asyncio.to_thread(_parse, page, _STACKS.decode)


def _decode_series(page: Sequence[Packed], selection: Selection) -> SeriesPage:
    groups: list[DecodedGroup] = []
    entities: list[WireEntity] = []
    for batch in _parse(page, _SERIES.decode):
        entities += batch.entities
        groups += _decode_groups(batch.groups, selection)
    return SeriesPage(groups, entities)


def _decode_groups(groups: Iterable[Group], selection: Selection) -> list[DecodedGroup]:
    metrics = selection.metrics or None
    return [
        view
        for group in groups
        if (metrics is None or not metrics.isdisjoint(group.metrics))
        and any(map(selection.takes_entity, group.entities))
        for view in decode_group(group, metrics, selection.takes_entity)
    ]


def _parse(page: Sequence[Packed], decode: Callable[[bytes], Parsed]) -> list[Parsed]:
    return [decode(unpack(encoding, payload)) for encoding, payload in page]


async def _pages(database: Database, host_id: int, start_ns: int, end_ns: int) -> AsyncGenerator[list[Packed], None]:
    """Payloads of the batches that touch [start, end), by start time. A batch spans at most MAX_SPAN_NS."""
    statement = (
        select(IngestHot.encoding, IngestHot.payload)
        .where(
            IngestHot.host_id == host_id,
            IngestHot.t0_ns > start_ns - MAX_SPAN_NS,
            IngestHot.t0_ns < end_ns,
            IngestHot.t1_ns > start_ns,
        )
        .order_by(IngestHot.t0_ns, IngestHot.run_id, IngestHot.sequence)
        .execution_options(yield_per=PAGE_ROWS)
    )
    page: list[Packed] = []
    held = 0
    async with database.read_samples() as session:
        async for encoding, payload in await session.stream(statement):
            page.append((encoding, payload))
            held += len(payload)
            if len(page) >= PAGE_ROWS or held >= PAGE_BYTES:
                yield page
                page, held = [], 0
    if page:
        yield page
