"""Rows of the watch over hosts: what came in, the detectors' states, the rolling verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from gapscope_backend.store.alerts import store_minute
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Chunk, HostVerdict, HostWatch, IngestHot
from gapscope_backend.store.slices import slices
from gapscope_backend.store.tiers import LONGEST_NS, RAW
from gapscope_backend.store.upsert import insert

_KEYS_AT_ONCE = 500  # below SQLite's limit of bound parameters


@dataclass(frozen=True)
class Arrival:
    """A batch that came in: whose, which, over what time, when."""

    host_id: int
    run_id: str
    sequence: int
    start_ns: int
    end_ns: int
    received_ns: int


async def arrivals_since(database: Database, received_ns: int) -> list[Arrival]:
    """Batches received at or after a moment, in the order of receipt."""
    columns = (
        IngestHot.host_id,
        IngestHot.run_id,
        IngestHot.sequence,
        IngestHot.t0_ns,
        IngestHot.t1_ns,
        IngestHot.received_ns,
    )
    query = select(*columns).where(IngestHot.received_ns >= received_ns).order_by(IngestHot.received_ns)
    async with database.read() as session:
        return [Arrival(*row) for row in await session.execute(query)]


async def next_data_ns(database: Database, host_id: int, after_ns: int) -> int | None:
    """Start of the first data of a host that reaches beyond a moment, in a batch or in a raw chunk."""
    hot = select(func.min(IngestHot.t0_ns)).where(IngestHot.host_id == host_id, IngestHot.t1_ns > after_ns)
    raw = select(func.min(Chunk.t0_ns)).where(
        Chunk.host_id == host_id, Chunk.tier == RAW, Chunk.t0_ns > after_ns - LONGEST_NS, Chunk.t1_ns > after_ns
    )
    async with database.read() as session:
        found = (await session.scalar(hot), await session.scalar(raw))
    return min((start_ns for start_ns in found if start_ns is not None), default=None)


async def read_watches(database: Database) -> list[HostWatch]:
    """What the watches remember, of all hosts."""
    async with database.read() as session:
        return list(await session.scalars(select(HostWatch)))


async def store_watch(
    session: AsyncSession, dialect: str, host_id: int, watermark_ns: int, now_ns: int, state: Mapping[str, Any]
) -> None:
    """Keep what the watch over a host remembers."""
    values = {"watermark_ns": watermark_ns, "saved_ns": now_ns, "state": dict(state)}
    statement = insert(dialect, HostWatch).values(host_id=host_id, **values)
    await session.execute(statement.on_conflict_do_update(index_elements=["host_id"], set_=values))


async def verdict_times(database: Database) -> dict[int, int]:
    """When the newest rolling verdict on each host was made, by host id."""
    async with database.read() as session:
        return {row[0]: row[1] for row in await session.execute(select(HostVerdict.host_id, HostVerdict.made_ns))}


async def read_verdicts(database: Database, host_ids: Sequence[int]) -> list[HostVerdict]:
    """The newest rolling verdicts on these hosts."""
    found: list[HostVerdict] = []
    async with database.read() as session:
        for some in slices(host_ids, _KEYS_AT_ONCE):
            found += await session.scalars(select(HostVerdict).where(HostVerdict.host_id.in_(some)))
    return found


async def store_verdicts(
    database: Database, rows: Mapping[int, Mapping[str, Any]], minutes: Mapping[int, bytes]
) -> None:
    """Keep rolling verdicts, by host id, in one transaction; of some their ``minutes`` too, for longer."""
    async with database.write() as session:
        for host_id, ledgers in minutes.items():
            end_ns, stored_ns = rows[host_id]["end_ns"], rows[host_id]["made_ns"]
            await store_minute(session, database.dialect, host_id, end_ns, stored_ns, ledgers)
        for host_id, values in rows.items():
            statement = insert(database.dialect, HostVerdict).values(host_id=host_id, **values)
            await session.execute(statement.on_conflict_do_update(index_elements=["host_id"], set_=dict(values)))
