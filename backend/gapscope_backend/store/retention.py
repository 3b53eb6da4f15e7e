"""Forgetting: rows older than the retention go in small transactions, so that ingest never waits long for the lock.

What a pin covers stays, with its stacks, events and entities, until the pin has run out.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, delete, exists, select

from gapscope_backend.store.database import Database
from gapscope_backend.store.incidents import CLOSED
from gapscope_backend.store.models import Entity, Event, Host, Incident, IngestHot, LoginSession, LoginToken, Pin

ROWS_PER_TRANSACTION = 200
INCIDENT_NS = 365 * 24 * 3600 * 1_000_000_000
"""How long after its end an incident itself is kept; its raw data goes earlier, with its pin."""


async def delete_old(database: Database, older_than_ns: int, now_ns: int) -> int:
    """Delete batches and events received before ``older_than_ns``, and logins past ``now_ns``; returns batches."""
    await _delete_over(database, now_ns)
    batches = await _delete_batches(database, older_than_ns)
    if batches:
        await _delete_stale_facts(database, older_than_ns)
    return batches


async def _delete_over(database: Database, now_ns: int) -> None:
    """Pins, incidents and logins whose time is over."""
    async with database.write() as session:
        await session.execute(delete(Pin).where(Pin.until_ns < now_ns))
        await session.execute(
            delete(Incident).where(Incident.state == CLOSED, Incident.closed_ns < now_ns - INCIDENT_NS)
        )
        await session.execute(delete(LoginSession).where(LoginSession.expires_ns < now_ns))
        await session.execute(delete(LoginToken).where(LoginToken.expires_ns < now_ns))


async def _delete_batches(database: Database, older_than_ns: int) -> int:
    total = 0
    free = ~exists().where(
        Pin.host_id == IngestHot.host_id, Pin.start_ns < IngestHot.t1_ns, Pin.end_ns > IngestHot.t0_ns
    )
    while True:
        async with database.write() as session:
            key = (IngestHot.host_id, IngestHot.run_id, IngestHot.sequence)
            rows = (
                await session.execute(
                    select(*key).where(IngestHot.received_ns < older_than_ns, free).limit(ROWS_PER_TRANSACTION)
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


def _has_batch() -> ColumnElement[bool]:
    """Whether the batch that an event came with is still there."""
    return exists().where(
        IngestHot.host_id == Event.host_id, IngestHot.run_id == Event.run_id, IngestHot.sequence == Event.sequence
    )


async def _delete_stale_facts(database: Database, older_than_ns: int) -> None:
    """Events go with their batches; entities once nothing of their time is left; ``first_data_ns`` moves up."""
    async with database.write() as session:
        await session.execute(delete(Event).where(Event.received_ns < older_than_ns, ~_has_batch()))
        for host in (await session.scalars(select(Host))).all():
            first = await session.scalar(
                select(IngestHot.t0_ns).where(IngestHot.host_id == host.id).order_by(IngestHot.t0_ns).limit(1)
            )
            if first is None:
                continue
            host.first_data_ns = first
            await session.execute(delete(Entity).where(Entity.host_id == host.id, Entity.last_seen_ns < first))
