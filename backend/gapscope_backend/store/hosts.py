"""Queries over hosts and what they consist of."""

from __future__ import annotations

from sqlalchemy import func, select

from gapscope_backend.store.database import Database
from gapscope_backend.store.latest import Latest, decode_latest, points_of
from gapscope_backend.store.models import Entity, Event, Host, HostLatest

_NAMES = 1000


async def list_hosts(database: Database) -> list[Host]:
    """All hosts by name."""
    async with database.read() as session:
        return list(await session.scalars(select(Host).order_by(Host.name)))


async def count_hosts(database: Database) -> tuple[int, int | None]:
    """Number of hosts, and when the newest batch of any came in (ns since the epoch)."""
    async with database.read() as session:
        count, last_ns = (await session.execute(select(func.count(Host.id), func.max(Host.last_seen_ns)))).one()
    return count, last_ns


async def host_named(database: Database, name: str) -> Host | None:
    """The host of exactly that name."""
    async with database.read() as session:
        host: Host | None = await session.scalar(select(Host).where(Host.name == name))
    return host


async def host_names(database: Database) -> list[str]:
    """Names of hosts, the first thousand."""
    async with database.read() as session:
        return list(await session.scalars(select(Host.name).order_by(Host.name).limit(_NAMES)))


async def list_entities(
    database: Database, host_id: int, start_ns: int, end_ns: int, kinds: tuple[str, ...]
) -> list[Entity]:
    """Entities of the given kinds with data in the span, by key."""
    query = select(Entity).where(
        Entity.host_id == host_id,
        Entity.kind.in_(kinds),
        Entity.last_seen_ns > start_ns,
        Entity.first_seen_ns < end_ns,
    )
    async with database.read() as session:
        return list(await session.scalars(query.order_by(Entity.key)))


async def list_events(database: Database, host_id: int, limit: int) -> list[Event]:
    """The newest events, newest first."""
    query = select(Event).where(Event.host_id == host_id).order_by(Event.t_ns.desc(), Event.position).limit(limit)
    async with database.read() as session:
        return list(await session.scalars(query))


async def read_latest(database: Database, host_id: int) -> tuple[int, Latest]:
    """Time of the newest batch and the newest value of each series; (0, {}) before the first batch."""
    async with database.read() as session:
        row = await session.get(HostLatest, host_id)
    return (row.t_ns, points_of(decode_latest(row.latest))) if row else (0, {})
