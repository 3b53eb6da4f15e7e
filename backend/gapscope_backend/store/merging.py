"""Small chunks of a tier become one: those of an hour, or of a day, once it is over.

Buckets that came late have a chunk of their own beside the merged one until the next merging; as buckets add up,
reading cannot tell the difference.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from gapscope_backend.store.chunk_rows import ChunkKey, Content, Encoded, encode_chunk, load_chunks, write_chunks
from gapscope_backend.store.chunks.rollup import combine
from gapscope_backend.store.database import Database
from gapscope_backend.store.hot import lock_host
from gapscope_backend.store.models import Chunk, Host
from gapscope_backend.store.tiers import SLOT_NS, TIERS, Tier

SETTLED_NS = 2 * SLOT_NS
"""After the end of an hour or a day, in the time of the host's data."""

Place = tuple[int, str]
"""Start of the merged chunk, and group."""


async def merge_tiers(database: Database, host_id: int) -> int:
    """Merge what can be merged of a host; returns the number of chunks that went into others."""
    return sum([await _merge_tier(database, host_id, tier) for tier in TIERS])


async def _merge_tier(database: Database, host_id: int, tier: Tier) -> int:
    merged = 0
    for (start_ns, group), keys in (await _mergeable(database, host_id, tier)).items():
        old = await load_chunks(database, host_id, keys)
        whole = ChunkKey(tier.seconds, start_ns, start_ns + tier.merged_ns, group)
        if not old:  # retention was faster
            continue
        new = await asyncio.to_thread(_merged, whole, old)
        gone = [content for key, content in old.items() if key != whole]
        replace_them = partial(_replace, dialect=database.dialect, host_id=host_id, gone=gone, new=new)
        if await database.write_in_thread(replace_them):
            merged += len(gone)
    return merged


def _replace(session: Session, dialect: str, host_id: int, gone: Sequence[Content], new: Encoded) -> bool:
    """One chunk in the place of others; False, and nothing of it, where another came between."""
    lock_host(session, host_id)
    if _take_out(session, host_id, gone) and write_chunks(session, dialect, host_id, [new]):
        return True
    session.rollback()
    return False


async def _mergeable(database: Database, host_id: int, tier: Tier) -> dict[Place, list[ChunkKey]]:
    """The chunks of finished hours (or days) that have more than the one merged chunk."""
    columns = (Chunk.t0_ns, Chunk.t1_ns, Chunk.group_id)
    async with database.read() as session:
        end_ns = await session.scalar(select(Host.last_data_ns).where(Host.id == host_id))
        query = select(*columns).where(Chunk.host_id == host_id, Chunk.tier == tier.seconds)
        small = query.where(Chunk.t1_ns - Chunk.t0_ns < tier.merged_ns)
        found: dict[Place, list[ChunkKey]] = defaultdict(list)
        for t0_ns, t1_ns, group in await session.execute(small):
            start_ns = t0_ns // tier.merged_ns * tier.merged_ns
            if start_ns + tier.merged_ns + SETTLED_NS <= (end_ns or 0):
                found[start_ns, group].append(ChunkKey(tier.seconds, t0_ns, t1_ns, group))
    return {
        (start_ns, group): [*keys, ChunkKey(tier.seconds, start_ns, start_ns + tier.merged_ns, group)]
        for (start_ns, group), keys in found.items()
    }


def _merged(key: ChunkKey, old: dict[ChunkKey, Content]) -> Encoded:
    before = old.get(key, Content(key))
    parts = [part for content in old.values() for part in content.rolled]
    received_ns = max(content.received_ns for content in old.values())
    return encode_chunk(replace(before, rolled=combine(parts), received_ns=received_ns))


def _take_out(session: Session, host_id: int, gone: Sequence[Content]) -> bool:
    """Delete chunks; False where one is not as it was read."""
    for content in gone:
        key = content.key
        statement = delete(Chunk).where(
            Chunk.host_id == host_id,
            Chunk.tier == key.tier,
            Chunk.t0_ns == key.t0_ns,
            Chunk.t1_ns == key.t1_ns,
            Chunk.group_id == key.group,
            Chunk.revision == content.revision,
        )
        done = session.execute(statement.returning(Chunk.t0_ns), execution_options={"synchronize_session": False})
        if done.first() is None:
            return False
    return True
