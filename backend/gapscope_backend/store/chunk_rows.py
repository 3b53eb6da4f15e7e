"""Rows of chunks: read with what they hold, written where they are as they were read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from sqlalchemy import Table, select, tuple_, update
from sqlalchemy.orm import Session

from gapscope_agent.catalog import BY_NAME
from gapscope_agent.wire import Entity
from gapscope_backend.store.chunks.block import Block, Row
from gapscope_backend.store.chunks.raw import CODEC, decode_raw, encode_raw
from gapscope_backend.store.chunks.rollup import Rolled
from gapscope_backend.store.chunks.sets import MetricSet, metric_set
from gapscope_backend.store.chunks.tier import decode_tier, encode_tier
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Chunk
from gapscope_backend.store.models import MetricSet as MetricSetRow
from gapscope_backend.store.slices import slices
from gapscope_backend.store.tiers import RAW
from gapscope_backend.store.upsert import insert

KEYS_AT_ONCE = 100


@dataclass(frozen=True, order=True)
class ChunkKey:
    """A chunk of a host."""

    tier: int
    t0_ns: int
    t1_ns: int
    group: str


@dataclass(frozen=True)
class Content:
    """What a chunk holds: ``blocks`` and ``told`` in tier 0, ``rolled`` in others. ``revision`` 0: it is new."""

    key: ChunkKey
    revision: int = 0
    received_ns: int = 0
    blocks: Sequence[Block] = ()
    told: Sequence[Entity] = ()
    rolled: Sequence[Rolled] = ()


@dataclass(frozen=True)
class Encoded:
    """A chunk as it goes into the database."""

    key: ChunkKey
    revision: int
    received_ns: int
    samples: int
    metrics: MetricSet
    data: bytes


def decode_chunk(
    key: ChunkKey,
    metrics: MetricSet,
    data: bytes,
    codec: str,
    revision: int = 1,
    received_ns: int = 0,
    takes: Callable[[Row], bool] | None = None,
) -> Content:
    """What a row holds, in today's quanta. Raises StoreError where the database is damaged.

    Series that the catalogue does not know any more are left out, and of a tier those that are not taken.
    """
    if key.tier == RAW:
        blocks, told = decode_raw(data, metrics.names, codec)
        blocks = blocks if metrics.is_current else [_block_today(block, metrics) for block in blocks]
        return Content(key, revision, received_ns, blocks=blocks, told=told)
    rolled = decode_tier(data, metrics.names, takes, codec)
    rolled = rolled if metrics.is_current else [_rolled_today(part, metrics) for part in rolled]
    return Content(key, revision, received_ns, rolled=rolled)


def encode_chunk(content: Content) -> Encoded:
    """The row of a content."""
    held = [part.rows for part in content.blocks] + [part.rows for part in content.rolled]
    metrics = metric_set(metric for rows in held for _, metric in rows)
    if content.key.tier == RAW:
        data = encode_raw(content.blocks, content.told, metrics.names)
        samples = sum(block.quanta.size for block in content.blocks)
    else:
        data = encode_tier(content.rolled, metrics.names)
        samples = sum(int(part.counts.sum()) for part in content.rolled)
    return Encoded(content.key, content.revision, content.received_ns, samples, metrics, data)


async def load_chunks(database: Database, host_id: int, keys: Sequence[ChunkKey]) -> dict[ChunkKey, Content]:
    """The chunks of these keys, as far as there are any."""
    columns = (Chunk.tier, Chunk.t0_ns, Chunk.t1_ns, Chunk.group_id)
    found: dict[ChunkKey, Content] = {}
    async with database.read() as session:
        for some in slices(keys, KEYS_AT_ONCE):
            wanted = [(key.tier, key.t0_ns, key.t1_ns, key.group) for key in some]
            query = select(Chunk).where(Chunk.host_id == host_id, tuple_(*columns).in_(wanted))
            rows = (await session.scalars(query)).all()
            sets = await database.metric_sets.load(session, {row.metric_set_id for row in rows})
            for row in rows:
                key = ChunkKey(row.tier, row.t0_ns, row.t1_ns, row.group_id)
                metrics = sets[row.metric_set_id]
                found[key] = decode_chunk(key, metrics, row.data, row.codec, row.revision, row.received_ns)
    return found


def write_chunks(session: Session, dialect: str, host_id: int, chunks: Sequence[Encoded]) -> bool:
    """Add or replace chunks; False, with the transaction of no use any more, where one is not as it was read."""
    _store_sets(session, dialect, {chunk.metrics for chunk in chunks})
    new = [{**_where(host_id, chunk), **_values(chunk)} for chunk in chunks if not chunk.revision]
    if new:
        table = cast("Table", Chunk.__table__)
        statement = insert(dialect, table).on_conflict_do_nothing().returning(table.c.t0_ns)
        if len((session.execute(statement, new)).all()) < len(new):
            return False
    for chunk in chunks:
        if chunk.revision:
            known = update(Chunk).filter_by(**_where(host_id, chunk), revision=chunk.revision)
            changed = known.values(_values(chunk)).returning(Chunk.revision)
            done = session.execute(changed, execution_options={"synchronize_session": False})
            if done.first() is None:
                return False
    return True


def _where(host_id: int, chunk: Encoded) -> dict[str, Any]:
    key = chunk.key
    return {"host_id": host_id, "tier": key.tier, "t0_ns": key.t0_ns, "t1_ns": key.t1_ns, "group_id": key.group}


def _values(chunk: Encoded) -> dict[str, Any]:
    return {
        "received_ns": chunk.received_ns,
        "revision": chunk.revision + 1,
        "samples": chunk.samples,
        "codec": CODEC,
        "metric_set_id": chunk.metrics.id,
        "data": chunk.data,
    }


def _store_sets(session: Session, dialect: str, sets: Iterable[MetricSet]) -> None:
    rows = [{"id": one.id, "names": list(one.names), "quanta": list(one.quanta)} for one in sets]
    if rows:
        session.execute(insert(dialect, MetricSetRow).on_conflict_do_nothing(), rows)


def _block_today(block: Block, metrics: MetricSet) -> Block:
    known, factors = _factors(block.rows, metrics)
    kept = block.select(known)
    return replace(kept, quanta=np.rint(kept.quanta * factors).astype(np.int64))


def _rolled_today(part: Rolled, metrics: MetricSet) -> Rolled:
    known, factors = _factors(part.rows, metrics)
    kept = part.select(known)
    stats = kept.stats.copy()
    stats[1:4] = np.rint(stats[1:4] * factors)
    return replace(kept, stats=stats)


def _factors(rows: Sequence[Row], metrics: MetricSet) -> tuple[list[int], npt.NDArray[np.float64]]:
    """Rows whose metric the catalogue knows, and float64[rows, 1]: a stored quantum in today's quanta."""
    stored = dict(zip(metrics.names, metrics.quanta, strict=True))
    known = [at for at, (_, metric) in enumerate(rows) if metric in BY_NAME]
    factors = [stored[rows[at][1]] / BY_NAME[rows[at][1]].quantum for at in known]
    return known, np.array(factors)[:, np.newaxis]
