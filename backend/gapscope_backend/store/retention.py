"""Forgetting: rows older than their time go in small transactions, so that ingest never waits long for the lock.

Time counts from receipt: a recording shown at its own, old time lives as long as anything else. What a pin covers
stays, samples, stacks and events, until the pin has run out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, delete, exists, func, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute

from gapscope_backend.errors import ConfigurationError
from gapscope_backend.store.alert_models import VerdictMinute
from gapscope_backend.store.alerts import delete_old_alerts
from gapscope_backend.store.chunks.stacks import decode_stacks
from gapscope_backend.store.database import Database
from gapscope_backend.store.deliveries import delete_old_deliveries
from gapscope_backend.store.incidents import CLOSED
from gapscope_backend.store.models import (
    Base,
    Chunk,
    DeviceMinute,
    Entity,
    Event,
    Host,
    Incident,
    IngestHot,
    IngestRun,
    LoginSession,
    LoginToken,
    Pin,
    Stack,
    StackChunk,
)
from gapscope_backend.store.shares import delete_over_shares
from gapscope_backend.store.slices import slices
from gapscope_backend.store.tiers import RAW, TIERS

ROWS_PER_TRANSACTION = 50
LONGEST = 1e5
"""Hours or days: beyond it nanoseconds would not fit into 64 bits."""
HOUR_NS = 3600 * 1_000_000_000
DAY_NS = 24 * HOUR_NS
INCIDENT_NS = 365 * DAY_NS
"""How long after its end an incident itself is kept; its raw data goes earlier, with its pin."""


@dataclass(frozen=True)
class Retention:
    """How long each kind of data is kept after its receipt: samples and stacks, the tiers, minutes and events."""

    raw_hours: float = 48.0
    ten_seconds_days: float = 30.0
    five_minutes_days: float = 365.0
    minutes_days: float = 90.0

    def check(self) -> None:
        """Raise ConfigurationError for a time that cannot be used."""
        for name, value in asdict(self).items():
            if not 0 < value < LONGEST:
                raise ConfigurationError(f"retention {name} = {value}: must be more than 0 and less than {LONGEST:.0f}")

    @property
    def raw_ns(self) -> int:
        """Of samples and stacks."""
        return round(self.raw_hours * HOUR_NS)

    @property
    def tiers_ns(self) -> dict[int, int]:
        """Of the tiers by their seconds; never shorter than samples are kept."""
        days = (self.ten_seconds_days, self.five_minutes_days)
        return {tier.seconds: max(self.raw_ns, round(d * DAY_NS)) for tier, d in zip(TIERS, days, strict=True)}

    @property
    def minutes_ns(self) -> int:
        """Of minutes, events and of what is known of the batches of a run."""
        return max(self.raw_ns, round(self.minutes_days * DAY_NS))


async def delete_old(database: Database, keep: Retention, now_ns: int) -> int:
    """Delete what is older than it is kept; returns the number of batches and chunks."""
    await _delete_over(database, now_ns)
    raw_ns = now_ns - keep.raw_ns
    gone = await _delete_rows(database, IngestHot, IngestHot.received_ns < raw_ns, unpinned(IngestHot))
    gone += await _delete_raw_chunks(database, raw_ns)
    gone += await _delete_rows(database, StackChunk, StackChunk.received_ns < raw_ns, unpinned(StackChunk))
    for seconds, kept_ns in keep.tiers_ns.items():
        gone += await _delete_rows(database, Chunk, Chunk.tier == seconds, Chunk.received_ns < now_ns - kept_ns)
    await _delete_unused_stacks(database, raw_ns)
    minutes_ns = now_ns - keep.minutes_ns
    await _delete_rows(database, DeviceMinute, DeviceMinute.received_ns < minutes_ns)
    await _delete_rows(database, VerdictMinute, VerdictMinute.stored_ns < minutes_ns)
    await _delete_rows(database, IngestRun, IngestRun.received_ns < minutes_ns)
    await _delete_rows(database, Event, Event.received_ns < minutes_ns, ~_pinned(Event.host_id, Event.t_ns, Event.t_ns))
    if gone:
        await _renew_reach(database)
    return gone


async def _delete_over(database: Database, now_ns: int) -> None:
    """Pins, incidents, alerts, shares, messages and logins whose time is over."""
    async with database.write() as session:
        await delete_over_shares(session, now_ns)
        await delete_old_deliveries(session, now_ns)
        await delete_old_alerts(session, now_ns - INCIDENT_NS)
        await session.execute(delete(Pin).where(Pin.until_ns < now_ns))
        await session.execute(
            delete(Incident).where(Incident.state == CLOSED, Incident.closed_ns < now_ns - INCIDENT_NS)
        )
        await session.execute(delete(LoginSession).where(LoginSession.expires_ns < now_ns))
        await session.execute(delete(LoginToken).where(LoginToken.expires_ns < now_ns))


def _pinned(
    host_id: InstrumentedAttribute[int], start_ns: InstrumentedAttribute[int], end_ns: InstrumentedAttribute[int]
) -> ColumnElement[bool]:
    return exists().where(Pin.host_id == host_id, Pin.start_ns < end_ns, Pin.end_ns > start_ns)


def unpinned(model: type[IngestHot] | type[Chunk] | type[StackChunk]) -> ColumnElement[bool]:
    """Rows that no pin covers."""
    return ~_pinned(model.host_id, model.t0_ns, model.t1_ns)


async def _delete_raw_chunks(database: Database, before_ns: int) -> int:
    """Samples; their hosts know from then on that before some time samples are kept only where pinned."""

    async def note(session: AsyncSession, keys: Sequence[Any]) -> None:
        reached: dict[int, int] = {}
        for key in keys:
            reached[key.host_id] = max(reached.get(key.host_id, 0), key.t1_ns)
        for host_id, t1_ns in reached.items():
            host = update(Host).where(Host.id == host_id, Host.raw_from_ns < t1_ns)
            await session.execute(host.values(raw_from_ns=t1_ns), execution_options={"synchronize_session": False})

    total = 0
    while True:
        async with database.write() as session:
            conditions = (Chunk.tier == RAW, Chunk.received_ns < before_ns, unpinned(Chunk))
            keys = await _delete_some(session, Chunk, conditions)
            await note(session, keys)
        total += len(keys)
        if len(keys) < ROWS_PER_TRANSACTION:
            return total


async def _delete_rows(database: Database, model: type[Base], *conditions: ColumnElement[bool]) -> int:
    total = 0
    while True:
        async with database.write() as session:
            gone = len(await _delete_some(session, model, conditions))
        total += gone
        if gone < ROWS_PER_TRANSACTION:
            return total


async def _delete_some(
    session: AsyncSession, model: type[Base], conditions: Iterable[ColumnElement[bool]]
) -> Sequence[Any]:
    """Delete up to ROWS_PER_TRANSACTION rows; their keys."""
    key = list(model.__table__.primary_key)
    rows = (await session.execute(select(*key).where(*conditions).limit(ROWS_PER_TRANSACTION))).all()
    if rows:
        statement = delete(model).where(tuple_(*key).in_([tuple(row) for row in rows]))
        await session.execute(statement, execution_options={"synchronize_session": False})
    return rows


async def _delete_unused_stacks(database: Database, before_ns: int) -> None:
    """Stacks that no chunk has needed for long; what pinned chunks hold stays."""
    async with database.read() as session:
        hosts = (await session.scalars(select(Stack.host_id).where(Stack.seen_ns < before_ns).distinct())).all()
    for host_id in hosts:
        used = await _used_stacks(database, host_id, before_ns)
        async with database.read() as session:
            old = await session.scalars(select(Stack.id).where(Stack.host_id == host_id, Stack.seen_ns < before_ns))
            unused = [number for number in old if number not in used]
        for some in slices(unused, ROWS_PER_TRANSACTION):
            async with database.write() as session:
                # Seen again meanwhile: then it stays.
                statement = delete(Stack).where(Stack.host_id == host_id, Stack.id.in_(some), Stack.seen_ns < before_ns)
                await session.execute(statement, execution_options={"synchronize_session": False})


async def _used_stacks(database: Database, host_id: int, before_ns: int) -> set[int]:
    query = select(StackChunk.process_id, StackChunk.data).where(
        StackChunk.host_id == host_id, StackChunk.received_ns < before_ns
    )
    used: set[int] = set()
    async with database.read() as session:
        for pid, data in await session.execute(query):
            used.update(decode_stacks(data, pid).stacks)
    return used


async def _renew_reach(database: Database) -> None:
    """What is the first data of each host now; entities of before are forgotten."""
    async with database.read() as session:
        hosts = (await session.scalars(select(Host.id))).all()
    for host_id in hosts:
        async with database.write() as session:
            host = (await session.scalars(select(Host).where(Host.id == host_id).with_for_update())).one()
            firsts = [
                await session.scalar(select(func.min(model.t0_ns)).where(model.host_id == host_id))
                for model in (IngestHot, Chunk)
            ]
            known = [first for first in firsts if first is not None]
            if known and min(known) > host.first_data_ns:
                host.first_data_ns = min(known)
                await session.execute(
                    delete(Entity).where(Entity.host_id == host_id, Entity.last_seen_ns < host.first_data_ns)
                )
