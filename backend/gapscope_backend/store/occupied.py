"""Where a host has something stored: a long span is walked from one stretch that holds data to the next."""

from __future__ import annotations

from sqlalchemy import func, select

from gapscope_agent.wire import MAX_SPAN_NS
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Chunk, IngestHot


async def next_occupied(
    database: Database, host_id: int, tier: int, width_ns: int, from_ns: int, end_ns: int
) -> int | None:
    """Start of the first stretch of ``width_ns`` at or after ``from_ns`` that holds something of a tier.

    Stretches lie on whole numbers of their width, and so does ``from_ns``; no chunk of the tier is longer than one.
    None where there is nothing more before ``end_ns``.
    """
    chunk = select(func.min(Chunk.t0_ns)).where(
        Chunk.host_id == host_id,
        Chunk.tier == tier,
        Chunk.t0_ns > from_ns - width_ns,
        Chunk.t0_ns < end_ns,
        Chunk.t1_ns > from_ns,
    )
    hot = select(func.min(IngestHot.t0_ns)).where(
        IngestHot.host_id == host_id,
        IngestHot.t0_ns > from_ns - MAX_SPAN_NS,
        IngestHot.t0_ns < end_ns,
        IngestHot.t1_ns > from_ns,
    )
    async with database.read() as session:
        firsts = [first for query in (chunk, hot) if (first := await session.scalar(query)) is not None]
    return max(from_ns, min(firsts) // width_ns * width_ns) if firsts else None
