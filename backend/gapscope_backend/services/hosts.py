"""Hosts and what they consist of, as the store knows them."""

from __future__ import annotations

from difflib import get_close_matches

from sqlalchemy import select

from gapscope_backend.errors import NotFoundError
from gapscope_backend.store.database import Database
from gapscope_backend.store.latest import Latest, decode_latest
from gapscope_backend.store.models import Entity, Event, Host, HostLatest

LIVE_NS = 15_000_000_000
RETIRED_NS = 24 * 3600 * 1_000_000_000


def host_state(host: Host, now_ns: int) -> str:
    """``live`` (last shipped less than 15 s ago), ``stale``, or ``retired`` (more than a day ago)."""
    age = now_ns - host.last_seen_ns
    if age < LIVE_NS:
        return "live"
    return "stale" if age <= RETIRED_NS else "retired"


async def list_hosts(database: Database) -> list[Host]:
    """All hosts by name."""
    async with database.read() as session:
        return list(await session.scalars(select(Host).order_by(Host.name)))


async def find_host(database: Database, name: str) -> Host:
    """The host of that name. NotFoundError names those that are close to it."""
    async with database.read() as session:
        host = await session.scalar(select(Host).where(Host.name == name))
        if host is not None:
            return host
        names = list(await session.scalars(select(Host.name).order_by(Host.name).limit(1000)))
    near = get_close_matches(name, names, n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else "; GET /api/v1/hosts lists them"
    raise NotFoundError(f"no host {name[:100]!r} has sent anything{hint}", "host")


async def list_entities(
    database: Database, host_id: int, start_ns: int, end_ns: int, kinds: tuple[str, ...] = ()
) -> list[Entity]:
    """Entities with data in the span, by key; of the given kinds only, when some are given."""
    query = select(Entity).where(
        Entity.host_id == host_id, Entity.last_seen_ns > start_ns, Entity.first_seen_ns < end_ns
    )
    if kinds:
        query = query.where(Entity.kind.in_(kinds))
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
    return (row.t_ns, decode_latest(row.latest)) if row else (0, {})


def number_label(labels: dict[str, str], name: str) -> float | None:
    """A label that is a number; None where it is absent or no number."""
    try:
        return float(labels[name])
    except (KeyError, ValueError):
        return None


def whole_label(labels: dict[str, str], name: str) -> int | None:
    """A label that is a whole number; None where it is absent or no number."""
    try:
        return int(labels[name])
    except (KeyError, ValueError):
        return None


def owner_pids(labels: dict[str, str]) -> set[int]:
    """Pids of a GPU's ``owners`` label."""
    return {int(pid) for pid in labels.get("owners", "").split(",") if pid.strip().isdecimal()}


def gpu_order(entity: Entity) -> tuple[float, str]:
    """Sort key of GPUs: by index, then key."""
    index = whole_label(entity.labels, "index")
    return (float("inf") if index is None else index, entity.key)
