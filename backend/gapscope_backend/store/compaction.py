"""Hot batches become chunks: all of it in one transaction, so that a sample is in one place at any moment.

The batches that start in one slot of a host are read, joined with what their chunks hold already, and written; then
those batches go. All work on the numbers happens before the transaction, which holds the lock of the database for
some milliseconds only. It changes nothing, and the work is done again later, when a batch or chunk is not as it was
read: somebody else compacted the same slot, or data came late.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import BigInteger, ColumnElement, delete, func, literal_column, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from gapscope_backend.store.chunk_rows import ChunkKey, Content, Encoded, encode_chunk, load_chunks, write_chunks
from gapscope_backend.store.chunks.gather import Gathered, Place, StackPlace, gather, joined, rollups
from gapscope_backend.store.chunks.rollup import combine
from gapscope_backend.store.database import Database
from gapscope_backend.store.hot import lock_host, unpack
from gapscope_backend.store.ingest_runs import add_to_runs
from gapscope_backend.store.minutes import Minutes, minutes_of, store_minutes
from gapscope_backend.store.models import IngestHot
from gapscope_backend.store.slices import slices
from gapscope_backend.store.stack_rows import EncodedStacks, StackContent, load_stack_chunks, renew_stacks, write_stacks
from gapscope_backend.store.tiers import RAW, SLOT_NS, TIERS

SETTLE_NS = 30_000_000_000
"""A slot is compacted once nothing came for it in this time."""
KEYS_AT_ONCE = 500
MAX_BYTES = 64 * 1024 * 1024
"""Of payloads at once; what a slot holds beyond it follows in the next round."""


@dataclass(frozen=True)
class Due:
    """A slot of a host whose batches have settled."""

    host_id: int
    slot_ns: int


@dataclass
class _Hot:
    received_ns: int = 0
    numbers: list[tuple[str, int]] = field(default_factory=list)
    payloads: list[tuple[str, bytes]] = field(default_factory=list)


@dataclass(frozen=True)
class _Renewed:
    chunks: list[Encoded]
    stacks: list[EncodedStacks]
    minutes: Minutes


async def due_slots(database: Database, now_ns: int, limit: int, host_id: int | None = None) -> list[Due]:
    """Slots to compact, of one host or of all, those that wait longest first."""
    slot = slot_number(IngestHot.t0_ns).label("slot")
    newest = func.max(IngestHot.received_ns)
    query = (
        select(IngestHot.host_id, slot)
        .group_by(IngestHot.host_id, slot)
        .having(newest < now_ns - SETTLE_NS)
        .order_by(newest, slot)
        .limit(limit)
    )
    if host_id is not None:
        query = query.where(IngestHot.host_id == host_id)
    async with database.read() as session:
        return [Due(host_id, number * SLOT_NS) for host_id, number in await session.execute(query)]


async def compact(database: Database, due: Due) -> int:
    """Move a slot's batches into chunks; returns how many. Returns 0 where another came between."""
    hot = await _read_hot(database, due)
    if not hot.numbers:
        return 0
    gathered = await asyncio.to_thread(_gather, hot)
    series = await load_chunks(database, due.host_id, _keys(gathered))
    stacks = await load_stack_chunks(database, due.host_id, list(gathered.stacks))
    renewed = await asyncio.to_thread(_renew, gathered, series, stacks, hot.received_ns)
    replaced = await database.write_in_thread(lambda session: _replace(session, database.dialect, due, hot, renewed))
    return len(hot.numbers) if replaced else 0


def _replace(session: Session, dialect: str, due: Due, hot: _Hot, renewed: _Renewed) -> bool:
    """Chunks in the place of batches; False, and nothing of it, where another came between."""
    lock_host(session, due.host_id)
    whole = (
        _take_out(session, due, hot)
        and write_chunks(session, dialect, due.host_id, renewed.chunks)
        and write_stacks(session, dialect, due.host_id, renewed.stacks)
    )
    if not whole:
        session.rollback()
        return False
    store_minutes(session, dialect, due.host_id, renewed.minutes, hot.received_ns)
    add_to_runs(session, dialect, due.host_id, hot.numbers, hot.received_ns)
    return True


def slot_number(column: InstrumentedAttribute[int]) -> ColumnElement[int]:
    """The number of the slot in which a time in ns lies."""
    return column.op("/", return_type=BigInteger())(literal_column(str(SLOT_NS)))


async def _read_hot(database: Database, due: Due) -> _Hot:
    query = (
        select(IngestHot.run_id, IngestHot.sequence, IngestHot.received_ns, IngestHot.encoding, IngestHot.payload)
        .where(
            IngestHot.host_id == due.host_id,
            IngestHot.t0_ns >= due.slot_ns,
            IngestHot.t0_ns < due.slot_ns + SLOT_NS,
        )
        .order_by(IngestHot.t0_ns, IngestHot.run_id, IngestHot.sequence)
        .execution_options(yield_per=32)
    )
    hot = _Hot()
    held = 0
    async with database.read() as session:
        async for run_id, sequence, received_ns, encoding, payload in await session.stream(query):
            hot.numbers.append((run_id, sequence))
            hot.payloads.append((encoding, payload))
            hot.received_ns = max(hot.received_ns, received_ns)
            held += len(payload)
            if held >= MAX_BYTES:
                break
    return hot


def _gather(hot: _Hot) -> Gathered:
    return gather((unpack(encoding, payload) for encoding, payload in hot.payloads), Gathered())


def _keys(gathered: Gathered) -> list[ChunkKey]:
    """The chunks that the content goes into: a slot's raw chunk and its chunk of each tier."""
    tiers = (RAW, *(tier.seconds for tier in TIERS))
    return [_key(tier, place) for place in gathered.blocks for tier in tiers]


def _renew(
    gathered: Gathered,
    series: Mapping[ChunkKey, Content],
    stacks: Mapping[StackPlace, StackContent],
    received_ns: int,
) -> _Renewed:
    """New content of all chunks. The new samples are added to what the chunks hold already."""
    contents: list[Content] = []
    minutes: Minutes = {}
    for place in gathered.blocks:
        blocks, told = joined(gathered.blocks[place], gathered.told.get(place, ()))
        contents += _contents(place, Content(_key(RAW, place), 0, received_ns, blocks, told), series)
        minutes.update(minutes_of(blocks))
    return _Renewed(
        [encode_chunk(content) for content in contents],
        [renew_stacks(stacks.get(place), place, new, received_ns) for place, new in gathered.stacks.items()],
        minutes,
    )


def _contents(place: Place, new: Content, series: Mapping[ChunkKey, Content]) -> list[Content]:
    """A slot's raw chunk and its chunk of each tier, with new samples in all of them."""
    out = []
    old = series.get(new.key)
    if old is None:
        out.append(new)
    else:
        blocks, told = joined([*old.blocks, *new.blocks], [*old.told, *new.told])
        out.append(Content(new.key, old.revision, max(old.received_ns, new.received_ns), blocks, told))
    for seconds, parts in rollups(new.blocks).items():
        key = _key(seconds, place)
        before = series.get(key, Content(key))
        received_ns = max(before.received_ns, new.received_ns)
        out.append(Content(key, before.revision, received_ns, rolled=combine([*before.rolled, *parts])))
    return out


def _key(tier: int, place: Place) -> ChunkKey:
    slot_ns, group = place
    return ChunkKey(tier, slot_ns, slot_ns + SLOT_NS, group)


def _take_out(session: Session, due: Due, hot: _Hot) -> bool:
    """Delete the batches that were read; False where they are not all there any more."""
    taken = 0
    for run_id in {run_id for run_id, _ in hot.numbers}:
        numbers = [number for run, number in hot.numbers if run == run_id]
        for some in slices(numbers, KEYS_AT_ONCE):
            statement = (
                delete(IngestHot)
                .where(IngestHot.host_id == due.host_id, IngestHot.run_id == run_id)
                .where(IngestHot.sequence.in_(some))
                .returning(IngestHot.sequence)
            )
            gone = session.execute(statement, execution_options={"synchronize_session": False})
            taken += len(gone.all())
    return taken == len(hot.numbers)
