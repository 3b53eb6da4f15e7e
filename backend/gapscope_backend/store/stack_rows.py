"""Rows of stack samples and of the stacks themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from gapscope_backend.store.chunks.gather import StackPlace
from gapscope_backend.store.chunks.stacks import (
    CODEC,
    Frames,
    StackTable,
    by_id,
    decode_stacks,
    encode_stacks,
    frames_of,
    join_stacks,
)
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Stack, StackChunk
from gapscope_backend.store.slices import slices
from gapscope_backend.store.tiers import SLOT_NS
from gapscope_backend.store.upsert import insert

KEYS_AT_ONCE = 200


@dataclass(frozen=True)
class StackContent:
    """The samples of a process in a slot. ``revision`` 0: the chunk is new."""

    place: StackPlace
    revision: int
    received_ns: int
    table: StackTable[int]


@dataclass(frozen=True)
class EncodedStacks:
    """A chunk as it goes into the database, and the stacks in it by id."""

    content: StackContent
    data: bytes
    stacks: Mapping[int, bytes]


async def load_stack_chunks(
    database: Database, host_id: int, places: Sequence[StackPlace]
) -> dict[StackPlace, StackContent]:
    """The chunks of these slots and processes, as far as there are any."""
    found = {}
    async with database.read() as session:
        for some in slices(places, KEYS_AT_ONCE):
            query = select(StackChunk).where(
                StackChunk.host_id == host_id,
                tuple_(StackChunk.t0_ns, StackChunk.process_id).in_(some),
            )
            for row in await session.scalars(query):
                place = (row.t0_ns, row.process_id)
                table = decode_stacks(row.data, row.process_id)
                found[place] = StackContent(place, row.revision, row.received_ns, table)
    return found


def renew_stacks(
    old: StackContent | None, place: StackPlace, new: Sequence[StackTable[Frames]], received_ns: int
) -> EncodedStacks:
    """A chunk with samples added to those that it holds."""
    fresh, stacks = by_id(join_stacks(new))
    table = join_stacks([old.table, fresh]) if old else fresh
    received_ns = max(received_ns, old.received_ns) if old else received_ns
    content = StackContent(place, old.revision if old else 0, received_ns, table)
    return EncodedStacks(content, encode_stacks(table), stacks)


def write_stacks(session: Session, dialect: str, host_id: int, chunks: Sequence[EncodedStacks]) -> bool:
    """Add or replace chunks; False, with the transaction of no use any more, where one is not as it was read."""
    stacks = {
        number: {"host_id": host_id, "id": number, "frames": frames, "seen_ns": chunk.content.received_ns}
        for chunk in chunks
        for number, frames in chunk.stacks.items()
    }
    if stacks:
        statement = insert(dialect, Stack)
        seen = {"seen_ns": statement.excluded.seen_ns}
        statement = statement.on_conflict_do_update(index_elements=["host_id", "id"], set_=seen)
        session.execute(statement, list(stacks.values()))
    return all(_write(session, dialect, host_id, chunk) for chunk in chunks)


async def load_frames(session: AsyncSession, host_id: int, ids: Sequence[int]) -> dict[int, Frames]:
    """Stacks by id."""
    found: dict[int, Frames] = {}
    for some in slices(ids, KEYS_AT_ONCE):
        query = select(Stack.id, Stack.frames).where(Stack.host_id == host_id, Stack.id.in_(some))
        found.update((number, frames_of(frames)) for number, frames in await session.execute(query))
    return found


def _write(session: Session, dialect: str, host_id: int, chunk: EncodedStacks) -> bool:
    content = chunk.content
    slot_ns, pid = content.place
    where = {"host_id": host_id, "t0_ns": slot_ns, "t1_ns": slot_ns + SLOT_NS, "process_id": pid}
    values = {
        "received_ns": content.received_ns,
        "revision": content.revision + 1,
        "samples": len(content.table.rows),
        "codec": CODEC,
        "data": chunk.data,
    }
    if content.revision:
        query = update(StackChunk).filter_by(**where, revision=content.revision).values(values)
    else:
        query = insert(dialect, StackChunk).values(**where, **values).on_conflict_do_nothing()
    query = query.returning(StackChunk.revision)
    done = session.execute(query, execution_options={"synchronize_session": False})
    return done.first() is not None
