"""Batches into a database without a server, and all that a database holds read back."""

from __future__ import annotations

from contextlib import aclosing

from sqlalchemy import func, select

from gapscope_agent.wire import Batch, encode
from gapscope_backend.services.ingest import check
from gapscope_backend.store.compaction import compact, due_slots
from gapscope_backend.store.database import Database
from gapscope_backend.store.hot import store_batches
from gapscope_backend.store.models import Base, Host
from gapscope_backend.store.reader import Selection, read_series, read_stacks

Sample = tuple[str, str, int]
FAR_NS = 1 << 61


async def store(database: Database, *batches: Batch, now_ns: int) -> list[bool]:
    """Store batches as the server does."""
    checked = [check(encode(batch), "identity", "*", now_ns) for batch in batches]
    return await store_batches(database, checked)


async def compact_all(database: Database, now_ns: int) -> int:
    """Compact whatever is due; the number of batches moved."""
    moved = 0
    while due := await due_slots(database, now_ns, 10):
        done = [await compact(database, one) for one in due]
        assert all(done)
        moved += sum(done)
    return moved


async def samples_of(database: Database, host_id: int, start_ns: int = 0, end_ns: int = FAR_NS) -> dict[Sample, str]:
    """Each sample (entity, metric, time), as text, or why it is missing. Fails where one comes twice."""
    found: dict[Sample, str] = {}
    async with aclosing(read_series(database, host_id, start_ns, end_ns, Selection())) as pages:
        async for page in pages:
            for group in page.groups:
                for metric, values in group.values.items():
                    reasons = {
                        at: run.reason
                        for run in group.missing[metric]
                        for at in range(run.start, run.start + run.count)
                    }
                    for at, (t, value) in enumerate(zip(group.times.tolist(), values.tolist(), strict=True)):
                        assert (group.entity, metric, t) not in found
                        found[group.entity, metric, t] = reasons.get(at) or repr(value)
    return found


async def stacks_of(database: Database, host_id: int) -> list[tuple[int, int, int, tuple[str, ...]]]:
    """Stack samples: time, pid, tid, functions."""
    found = []
    async with aclosing(read_stacks(database, host_id, 0, FAR_NS)) as pages:
        async for table in pages:
            for t, pid, tid, _, _, stack in table.rows.tolist():
                found.append((t, pid, tid, tuple(frame.function for frame in table.stacks[stack])))
    return sorted(found)


async def host_id_of(database: Database, name: str = "node-1") -> int:
    async with database.read() as session:
        return (await session.scalars(select(Host.id).where(Host.name == name))).one()


async def count(database: Database, model: type[Base]) -> int:
    async with database.read() as session:
        return (await session.scalars(select(func.count()).select_from(model))).one()
