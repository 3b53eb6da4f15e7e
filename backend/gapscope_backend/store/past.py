"""What is stored of a minute that is over: its rows of all GPUs, which GPUs were known then, what is still to come."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import func, select

from gapscope_backend.store.database import Database
from gapscope_backend.store.minutes import MINUTE_NS
from gapscope_backend.store.models import DeviceMinute, Entity, Host, Incident, IngestHot
from gapscope_backend.store.slices import slices

_IDS_AT_ONCE = 500


async def minute_bounds(database: Database) -> tuple[int, int] | None:
    """Start of the oldest and of the newest minute that is stored of any GPU; None while there is none."""
    async with database.read() as session:
        oldest = await session.scalar(select(func.min(DeviceMinute.minute_ns)))
        newest = await session.scalar(select(func.max(DeviceMinute.minute_ns)))
    return None if oldest is None or newest is None else (oldest, newest)


async def devices_at(database: Database, minute_ns: int) -> dict[int, dict[str, DeviceMinute]]:
    """The rows of one minute by host id and device."""
    found: dict[int, dict[str, DeviceMinute]] = defaultdict(dict)
    async with database.read() as session:
        for row in await session.scalars(select(DeviceMinute).where(DeviceMinute.minute_ns == minute_ns)):
            found[row.host_id][row.device] = row
    return found


async def hosts_until(database: Database, end_ns: int) -> list[Host]:
    """Hosts whose data began before a moment, by name."""
    async with database.read() as session:
        return list(await session.scalars(select(Host).where(Host.first_data_ns < end_ns).order_by(Host.name)))


async def gpus_seen(database: Database, host_ids: Sequence[int], start_ns: int, end_ns: int) -> dict[int, list[Entity]]:
    """GPUs with data in the span, by host."""
    found: dict[int, list[Entity]] = defaultdict(list)
    async with database.read() as session:
        for some in slices(host_ids, _IDS_AT_ONCE):
            query = (
                select(Entity)
                .where(Entity.host_id.in_(some), Entity.kind == "gpu")
                .where(Entity.last_seen_ns > start_ns, Entity.first_seen_ns < end_ns)
                .order_by(Entity.host_id, Entity.key)
            )
            for entity in await session.scalars(query):
                found[entity.host_id].append(entity)
    return found


async def hosts_waiting(database: Database, minute_ns: int) -> set[int]:
    """Ids of hosts with batches of a minute that are not in its rows yet: compaction has not come to them."""
    query = select(IngestHot.host_id).where(IngestHot.t0_ns < minute_ns + MINUTE_NS, IngestHot.t1_ns > minute_ns)
    async with database.read() as session:
        return set(await session.scalars(query.distinct()))


async def incidents_at(database: Database, minute_ns: int) -> dict[int, list[Incident]]:
    """Incidents that touch a minute, by host id, dearest first."""
    found: dict[int, list[Incident]] = defaultdict(list)
    query = (
        select(Incident)
        .where(Incident.start_ns < minute_ns + MINUTE_NS, Incident.end_ns >= minute_ns)
        .order_by(Incident.lost_gpu_seconds.desc(), Incident.id)
    )
    async with database.read() as session:
        for incident in await session.scalars(query):
            found[incident.host_id].append(incident)
    return found
