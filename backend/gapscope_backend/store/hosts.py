"""Queries over hosts and what they consist of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set

from sqlalchemy import String, cast, func, select

from gapscope_backend.store.database import Database
from gapscope_backend.store.latest import Latest, decode_latest, points_of
from gapscope_backend.store.models import Entity, Event, Host, HostLatest
from gapscope_backend.store.slices import slices

_NAMES = 1000
_IDS_AT_ONCE = 500
_MOST_PROCESSES = 10_000


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


async def entity_of(database: Database, host_id: int, key: str) -> Entity | None:
    """The entity of that key."""
    async with database.read() as session:
        return await session.get(Entity, (host_id, key))


async def processes_telling(database: Database, text: str, start_ns: int, end_ns: int) -> list[tuple[Host, Entity]]:
    """Processes of all hosts with data in the span whose labels hold a text, by host and key."""
    query = (
        select(Host, Entity)
        .join(Host, Host.id == Entity.host_id)
        .where(Entity.kind == "process", Entity.last_seen_ns > start_ns, Entity.first_seen_ns < end_ns)
        .where(cast(Entity.labels, String).contains(text, autoescape=True))
        .order_by(Host.name, Entity.key)
        .limit(_MOST_PROCESSES)
    )
    async with database.read() as session:
        return [(host, entity) for host, entity in await session.execute(query)]


async def list_events(database: Database, host_id: int, limit: int) -> list[Event]:
    """The newest events, newest first."""
    query = select(Event).where(Event.host_id == host_id).order_by(Event.t_ns.desc(), Event.position).limit(limit)
    async with database.read() as session:
        return list(await session.scalars(query))


async def read_latest(database: Database, host_id: int, metrics: Set[str] | None = None) -> tuple[int, Latest]:
    """Time of the newest batch and the newest values, of some metrics or of all; (0, {}) before the first batch."""
    async with database.read() as session:
        row = await session.get(HostLatest, host_id)
    return (row.t_ns, points_of(decode_latest(row.latest), metrics)) if row else (0, {})


async def entities_near_end(
    database: Database, host_ids: Sequence[int], back_ns: int, kinds: tuple[str, ...]
) -> dict[int, list[Entity]]:
    """Entities of the given kinds that had data in the last ``back_ns`` of their host's data, by host."""
    found: dict[int, list[Entity]] = defaultdict(list)
    async with database.read() as session:
        for some in slices(host_ids, _IDS_AT_ONCE):
            query = (
                select(Entity)
                .join(Host, Host.id == Entity.host_id)
                .where(Entity.host_id.in_(some), Entity.kind.in_(kinds))
                .where(Entity.last_seen_ns > Host.last_data_ns - back_ns, Entity.first_seen_ns <= Host.last_data_ns)
                .order_by(Entity.host_id, Entity.key)
            )
            for entity in await session.scalars(query):
                found[entity.host_id].append(entity)
    return found


async def count_cores(database: Database, host_ids: Sequence[int]) -> dict[int, int]:
    """Number of cores that told of themselves, by host."""
    found: dict[int, int] = {}
    async with database.read() as session:
        for some in slices(host_ids, _IDS_AT_ONCE):
            query = select(Entity.host_id, func.count()).where(Entity.host_id.in_(some), Entity.kind == "core")
            found.update((row[0], row[1]) for row in await session.execute(query.group_by(Entity.host_id)))
    return found


async def latest_times(database: Database) -> dict[int, int]:
    """Time of the newest batch, by host."""
    async with database.read() as session:
        rows = await session.execute(select(HostLatest.host_id, HostLatest.t_ns))
        return {row[0]: row[1] for row in rows}


async def latest_of(
    database: Database, host_ids: Sequence[int], kinds: tuple[str, ...], metrics: Set[str] | None = None
) -> dict[int, Latest]:
    """The newest values of entities whose keys begin with one of ``kinds``, by host; of some metrics or of all."""
    found: dict[int, Latest] = {}
    async with database.read() as session:
        for some in slices(host_ids, _IDS_AT_ONCE):
            query = select(HostLatest.host_id, HostLatest.latest).where(HostLatest.host_id.in_(some))
            for host_id, latest in await session.execute(query):
                groups = [group for group in decode_latest(latest) if group.entities[0].startswith(kinds)]
                found[host_id] = points_of(groups, metrics)
    return found
