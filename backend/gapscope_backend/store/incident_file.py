"""One incident as one file: an SQLite database with the same tables, in which only its rows stand.

Rows go over as they are, chunks undecoded, and the schema's version with them. What the file holds: the incident with
its verdict; the host and its entities, events and annotations of the span; samples and stacks of it, by whole slots;
the chunks of the tiers that touch it, which reach further; its minutes. No tokens, no logins, no other host.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Executable, Table, insert, select
from sqlalchemy.ext.asyncio import AsyncSession

from gapscope_agent.wire import MAX_SPAN_NS
from gapscope_backend.errors import NotFoundError, StoreError
from gapscope_backend.store.chunks.stacks import decode_stacks
from gapscope_backend.store.database import Database, open_database, sqlite_url
from gapscope_backend.store.latest import LatestGroup, decode_latest, encode_latest
from gapscope_backend.store.models import (
    Annotation,
    Base,
    Chunk,
    DeviceMinute,
    Entity,
    Event,
    Host,
    HostLatest,
    Incident,
    IngestHot,
    MetricSet,
    Stack,
    StackChunk,
)
from gapscope_backend.store.slices import slices
from gapscope_backend.store.tiers import LONGEST_NS, SECOND_NS, SLOT_NS

APPLICATION_ID = 0x4741_5053
"""In the file's header, where SQLite keeps whose file it is: "GAPS"."""
MAX_FILE_BYTES = 2 << 30
SILENT_NS = 16 * SECOND_NS
"""The host in a file is not live: it was last seen so long before the end."""
ROWS_AT_ONCE = 50
KEYS_AT_ONCE = 500

Row = dict[str, Any]


@dataclass(frozen=True)
class _Span:
    host_id: int
    start_ns: int
    end_ns: int


async def write_incident_file(
    database: Database, incident_id: str, around_ns: int, path: Path, keep_latest: frozenset[str]
) -> None:
    """Write an incident, with the data from ``around_ns`` before it to as long after, into a new file.

    Of the host's newest values those of the metrics ``keep_latest`` go with it. Raises NotFoundError for an unknown
    incident and StoreError for a file that would become larger than can be opened.
    """
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    try:
        file = await open_database(sqlite_url(part))
        try:
            await _fill(database, file, incident_id, around_ns, keep_latest)
        finally:
            await file.close()
        _finish(part)
        part.replace(path)
    finally:
        for left in (part, part.with_name(f"{part.name}-wal"), part.with_name(f"{part.name}-shm")):
            left.unlink(missing_ok=True)


async def _fill(
    database: Database, file: Database, incident_id: str, around_ns: int, keep_latest: frozenset[str]
) -> None:
    async with database.read() as source, file.write() as target:
        incident = await source.scalar(select(Incident).where(Incident.id == incident_id))
        if incident is None:
            raise NotFoundError(f"no incident {incident_id[:40]!r}; GET /api/v1/incidents lists them", "incident")
        span = _Span(incident.host_id, incident.start_ns - around_ns, incident.end_ns + around_ns)
        await _copy(source, target, Host, select(Host.__table__).where(Host.id == span.host_id), _shown(span))
        sets = select(Chunk.metric_set_id).where(*_chunks(span)).distinct()
        await _copy(source, target, MetricSet, select(MetricSet.__table__).where(MetricSet.id.in_(sets)))
        for model, conditions in _parts(span, incident_id):
            await _copy(source, target, model, select(model.__table__).where(*conditions))
        await _copy_latest(source, target, span.host_id, keep_latest)
        await _copy_stacks(source, target, span)


def _parts(span: _Span, incident_id: str) -> list[tuple[type[Base], Sequence[ColumnElement[bool]]]]:
    start, end = span.start_ns, span.end_ns
    return [
        (
            Entity,
            (Entity.host_id == span.host_id, Entity.last_seen_ns > start, Entity.first_seen_ns < end),
        ),
        (Event, (Event.host_id == span.host_id, Event.t_ns >= start, Event.t_ns < end)),
        (
            Annotation,
            (Annotation.host_id == span.host_id, Annotation.start_ns < end, Annotation.end_ns >= start),
        ),
        (Incident, (Incident.host_id == span.host_id, Incident.id == incident_id)),
        (Chunk, _chunks(span)),
        (
            IngestHot,
            (
                IngestHot.host_id == span.host_id,
                IngestHot.t0_ns > start - MAX_SPAN_NS,
                IngestHot.t0_ns < end,
                IngestHot.t1_ns > start,
            ),
        ),
        (StackChunk, _stack_chunks(span)),
        (
            DeviceMinute,
            (DeviceMinute.host_id == span.host_id, DeviceMinute.minute_ns >= start, DeviceMinute.minute_ns < end),
        ),
    ]


def _chunks(span: _Span) -> Sequence[ColumnElement[bool]]:
    return (
        Chunk.host_id == span.host_id,
        Chunk.t0_ns > span.start_ns - LONGEST_NS,
        Chunk.t0_ns < span.end_ns,
        Chunk.t1_ns > span.start_ns,
    )


def _stack_chunks(span: _Span) -> Sequence[ColumnElement[bool]]:
    return (
        StackChunk.host_id == span.host_id,
        StackChunk.t0_ns > span.start_ns - SLOT_NS,
        StackChunk.t0_ns < span.end_ns,
    )


def _shown(span: _Span) -> Mapping[str, Any]:
    """What the file tells of its host: it is recorded, and its data ends with the span."""
    return {"recorded": True, "first_data_ns": span.start_ns, "last_data_ns": span.end_ns}


async def _copy(
    source: AsyncSession,
    target: AsyncSession,
    model: type[Base],
    query: Executable,
    shown: Mapping[str, Any] | None = None,
) -> None:
    table = model.__table__
    assert isinstance(table, Table)
    async for rows in _rows(source, query):
        if shown:
            rows = [_trimmed(row, shown) for row in rows]
        await target.execute(insert(table), rows)


async def _rows(source: AsyncSession, query: Executable) -> AsyncIterator[list[Row]]:
    found = await source.stream(query.execution_options(yield_per=ROWS_AT_ONCE))
    async for some in found.mappings().partitions(ROWS_AT_ONCE):
        yield [dict(row) for row in some]


def _trimmed(host: Row, shown: Mapping[str, Any]) -> Row:
    last_ns = min(host["last_data_ns"], shown["last_data_ns"])
    first_ns = max(host["first_data_ns"], shown["first_data_ns"])
    seen = {"first_seen_ns": first_ns, "last_seen_ns": last_ns - SILENT_NS}
    return {**host, **shown, **seen, "first_data_ns": first_ns, "last_data_ns": last_ns}


async def _copy_latest(source: AsyncSession, target: AsyncSession, host_id: int, metrics: frozenset[str]) -> None:
    row = await source.get(HostLatest, host_id)
    if row is None:
        return
    kept = [part for group in decode_latest(row.latest) for part in _only(group, metrics)]
    target.add(HostLatest(host_id=host_id, t_ns=row.t_ns, latest=encode_latest(kept)))


def _only(group: LatestGroup, metrics: frozenset[str]) -> Iterator[LatestGroup]:
    kept = [at for at, metric in enumerate(group.metrics) if metric in metrics]
    if kept:
        width = len(group.metrics)
        values = [group.values[row * width + at] for row in range(len(group.entities)) for at in kept]
        yield LatestGroup(group.entities, [group.metrics[at] for at in kept], group.t, values)


async def _copy_stacks(source: AsyncSession, target: AsyncSession, span: _Span) -> None:
    """The frames that the span's stack chunks refer to; hot batches bring their own."""
    used: set[int] = set()
    chunks = select(StackChunk.process_id, StackChunk.data).where(*_stack_chunks(span))
    async for rows in _rows(source, chunks):
        for row in rows:
            used.update(decode_stacks(row["data"], row["process_id"]).stacks)
    for some in slices(sorted(used), KEYS_AT_ONCE):
        query = select(Stack.__table__).where(Stack.host_id == span.host_id, Stack.id.in_(some))
        await _copy(source, target, Stack, query)


def _finish(path: Path) -> None:
    """One file without a log beside it, with Gapscope's mark."""
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    finally:
        connection.close()
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise StoreError(f"the incident takes {size:,} bytes; a file of at most {MAX_FILE_BYTES:,} can be opened")
