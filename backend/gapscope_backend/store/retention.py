"""Forgetting: rows older than the retention go in small transactions, so that ingest never waits long for the lock."""

from __future__ import annotations

from sqlalchemy import delete, select

from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Entity, Event, Host, IngestHot, LoginSession, LoginToken

ROWS_PER_TRANSACTION = 200


async def delete_old(database: Database, older_than_ns: int, now_ns: int) -> int:
    """Delete batches and events received before ``older_than_ns``, and logins past ``now_ns``; returns batches."""
    batches = await _delete_batches(database, older_than_ns)
    if batches:
        await _delete_stale_facts(database, older_than_ns)
    async with database.write() as session:
        await session.execute(delete(LoginSession).where(LoginSession.expires_ns < now_ns))
        await session.execute(delete(LoginToken).where(LoginToken.expires_ns < now_ns))
    return batches


async def _delete_batches(database: Database, older_than_ns: int) -> int:
    total = 0
    while True:
        async with database.write() as session:
            key = (IngestHot.host_id, IngestHot.run_id, IngestHot.sequence)
            rows = (
                await session.execute(
                    select(*key).where(IngestHot.received_ns < older_than_ns).limit(ROWS_PER_TRANSACTION)
                )
            ).all()
            for host_id, run_id, sequence in rows:
                await session.execute(
                    delete(IngestHot).where(
                        IngestHot.host_id == host_id, IngestHot.run_id == run_id, IngestHot.sequence == sequence
                    )
                )
        total += len(rows)
        if len(rows) < ROWS_PER_TRANSACTION:
            return total


async def _delete_stale_facts(database: Database, older_than_ns: int) -> None:
    """Events go with their batches; entities once nothing of their time is left; ``first_data_ns`` moves up."""
    async with database.write() as session:
        await session.execute(delete(Event).where(Event.received_ns < older_than_ns))
        for host in (await session.scalars(select(Host))).all():
            first = await session.scalar(
                select(IngestHot.t0_ns).where(IngestHot.host_id == host.id).order_by(IngestHot.t0_ns).limit(1)
            )
            if first is None:
                continue
            host.first_data_ns = first
            await session.execute(delete(Entity).where(Entity.host_id == host.id, Entity.last_seen_ns < first))
