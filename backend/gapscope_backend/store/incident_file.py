"""One incident, or a span of a host, as one file: an SQLite database with the same tables, only its rows in them.

Rows go over as they are, chunks undecoded, and the schema's version with them. What the file holds: the incident, if it
is one, with its verdict; the host and its entities, events and annotations of the span; samples and stacks of it, by
whole slots; the chunks of the tiers that touch it, which reach further; its minutes. No tokens, no logins, no shares,
no other host.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
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


_HUSHED: Mapping[type[Base], Row] = {
    Incident: {"comments": [], "assignments": [], "acknowledged_by": "", "acknowledged_ns": None},
    Annotation: {"made_by": ""},
}
"""What stands in place of people's names and of what they say to each other."""


@dataclass(frozen=True)
class FileChoice:
    """What goes into a file: [start, end) of a host, and one incident of it or (empty) none.

    Of the host's newest values those of the metrics ``keep_latest`` go with it. ``hushed`` leaves out who the people
    are that looked after the incident or noted something, and what they say. ``as_recorded`` shows the host as played
    from a recording, else as what it was.
    """

    host_id: int
    start_ns: int
    end_ns: int
    incident_id: str = ""
    keep_latest: frozenset[str] = frozenset()
    hushed: bool = False
    as_recorded: bool = True


Choose = Callable[[AsyncSession], Awaitable[FileChoice]]


def incident_choice(incident_id: str, around_ns: int, keep_latest: frozenset[str]) -> Choose:
    """An incident with the data from ``around_ns`` before it to as long after; NotFoundError for an unknown one."""

    async def choose(source: AsyncSession) -> FileChoice:
        incident = await source.scalar(select(Incident).where(Incident.id == incident_id))
        if incident is None:
            raise NotFoundError(f"no incident {incident_id[:40]!r}; GET /api/v1/incidents lists them", "incident")
        start_ns, end_ns = incident.start_ns - around_ns, incident.end_ns + around_ns
        return FileChoice(incident.host_id, start_ns, end_ns, incident.id, keep_latest)

    return choose


async def write_file(database: Database, choose: Choose, path: Path) -> None:
    """Write what ``choose`` chooses, all of one snapshot, into a new file.

    Raises what ``choose`` raises, and StoreError for a file that would become larger than can be opened.
    """
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    try:
        file = await open_database(sqlite_url(part))
        try:
            await _fill(database, file, choose)
        finally:
            await file.close()
        _finish(part)
        part.replace(path)
    finally:
        for left in (part, part.with_name(f"{part.name}-wal"), part.with_name(f"{part.name}-shm")):
            left.unlink(missing_ok=True)


async def _fill(database: Database, file: Database, choose: Choose) -> None:
    async with database.read() as source, file.write() as target:
        span = await choose(source)
        hosts = select(Host.__table__).where(Host.id == span.host_id)
        await _copy(source, target, Host, hosts, lambda host: _trimmed(host, span))
        sets = select(Chunk.metric_set_id).where(*_chunks(span)).distinct()
        await _copy(source, target, MetricSet, select(MetricSet.__table__).where(MetricSet.id.in_(sets)))
        for model, conditions in _parts(span):
            await _copy(source, target, model, select(model.__table__).where(*conditions), _hushed(model, span))
        await _copy_latest(source, target, span)
        await _copy_stacks(source, target, span)


def _parts(span: FileChoice) -> list[tuple[type[Base], Sequence[ColumnElement[bool]]]]:
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
        (Incident, (Incident.host_id == span.host_id, Incident.id == span.incident_id)),
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


def _chunks(span: FileChoice) -> Sequence[ColumnElement[bool]]:
    return (
        Chunk.host_id == span.host_id,
        Chunk.t0_ns > span.start_ns - LONGEST_NS,
        Chunk.t0_ns < span.end_ns,
        Chunk.t1_ns > span.start_ns,
    )


def _stack_chunks(span: FileChoice) -> Sequence[ColumnElement[bool]]:
    return (
        StackChunk.host_id == span.host_id,
        StackChunk.t0_ns > span.start_ns - SLOT_NS,
        StackChunk.t0_ns < span.end_ns,
    )


async def _copy(
    source: AsyncSession,
    target: AsyncSession,
    model: type[Base],
    query: Executable,
    shown: Callable[[Row], Row] = dict,
) -> None:
    table = model.__table__
    assert isinstance(table, Table)
    async for rows in _rows(source, query):
        await target.execute(insert(table), [shown(row) for row in rows])


async def _rows(source: AsyncSession, query: Executable) -> AsyncIterator[list[Row]]:
    found = await source.stream(query.execution_options(yield_per=ROWS_AT_ONCE))
    async for some in found.mappings().partitions(ROWS_AT_ONCE):
        yield [dict(row) for row in some]


def _hushed(model: type[Base], span: FileChoice) -> Callable[[Row], Row]:
    instead = _HUSHED.get(model, {}) if span.hushed else {}
    return lambda row: {**row, **instead}


def _trimmed(host: Row, span: FileChoice) -> Row:
    """What the file tells of its host: its data is that of the span, and it is not live."""
    first_ns, last_ns = max(host["first_data_ns"], span.start_ns), min(host["last_data_ns"], span.end_ns)
    seen = {"first_seen_ns": first_ns, "last_seen_ns": last_ns - SILENT_NS}
    recorded = span.as_recorded or host["recorded"]
    return {**host, **seen, "recorded": recorded, "first_data_ns": first_ns, "last_data_ns": last_ns}


async def _copy_latest(source: AsyncSession, target: AsyncSession, span: FileChoice) -> None:
    row = await source.get(HostLatest, span.host_id)
    if row is None:
        return
    kept = [part for group in decode_latest(row.latest) for part in _only(group, span.keep_latest)]
    target.add(HostLatest(host_id=span.host_id, t_ns=row.t_ns, latest=encode_latest(kept)))


def _only(group: LatestGroup, metrics: frozenset[str]) -> Iterator[LatestGroup]:
    kept = [at for at, metric in enumerate(group.metrics) if metric in metrics]
    if kept:
        width = len(group.metrics)
        values = [group.values[row * width + at] for row in range(len(group.entities)) for at in kept]
        yield LatestGroup(group.entities, [group.metrics[at] for at in kept], group.t, values)


async def _copy_stacks(source: AsyncSession, target: AsyncSession, span: FileChoice) -> None:
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
