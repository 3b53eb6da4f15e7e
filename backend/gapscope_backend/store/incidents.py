"""Rows of incidents, their pins, and the pages of the list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Host, Incident, Pin
from gapscope_backend.store.upsert import insert

OPEN = "open"
CLOSED = "closed"


@dataclass(frozen=True)
class IncidentFilter:
    """Which incidents: of a host (by id), in a state, that touch [start, end); None for any."""

    host_id: int | None = None
    state: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    limit: int = 100


async def incidents_near(database: Database, host_id: int, start_ns: int, end_ns: int) -> list[Incident]:
    """Incidents of a host that touch the span, oldest first; those that are open reach without end."""
    query = (
        select(Incident)
        .where(Incident.host_id == host_id, Incident.start_ns <= end_ns)
        .where((Incident.state == OPEN) | (Incident.end_ns >= start_ns))
        .order_by(Incident.start_ns, Incident.id)
    )
    async with database.read() as session:
        return list(await session.scalars(query))


async def open_incidents(database: Database) -> list[Incident]:
    """All incidents that are open."""
    async with database.read() as session:
        return list(await session.scalars(select(Incident).where(Incident.state == OPEN)))


async def count_open(database: Database) -> Mapping[int, int]:
    """Number of open incidents of each host that has any, by host id."""
    query = select(Incident.host_id, func.count()).where(Incident.state == OPEN).group_by(Incident.host_id)
    async with database.read() as session:
        return {row[0]: row[1] for row in await session.execute(query)}


async def list_incidents(database: Database, wanted: IncidentFilter) -> list[tuple[Incident, str]]:
    """Incidents with their host's name, newest first."""
    query = select(Incident, Host.name).join(Host, Host.id == Incident.host_id)
    if wanted.host_id is not None:
        query = query.where(Incident.host_id == wanted.host_id)
    if wanted.state is not None:
        query = query.where(Incident.state == wanted.state)
    if wanted.start_ns is not None:
        query = query.where(Incident.end_ns >= wanted.start_ns)
    if wanted.end_ns is not None:
        query = query.where(Incident.start_ns < wanted.end_ns)
    query = query.order_by(Incident.start_ns.desc(), Incident.id).limit(wanted.limit)
    async with database.read() as session:
        return [(incident, name) for incident, name in await session.execute(query)]


async def incident_of(database: Database, incident_id: str) -> tuple[Incident, str] | None:
    """The incident of that id with its host's name."""
    query = select(Incident, Host.name).join(Host, Host.id == Incident.host_id).where(Incident.id == incident_id)
    async with database.read() as session:
        row = (await session.execute(query)).first()
    return None if row is None else (row[0], row[1])


async def store_incidents(
    session: AsyncSession, dialect: str, rows: Iterable[Mapping[str, Any]], pins: Iterable[Mapping[str, Any]]
) -> None:
    """Add or renew incidents and their pins; what people wrote to an incident (acknowledged, comments) stays."""
    for model, values in ((Incident, rows), (Pin, pins)):
        for row in values:
            statement = insert(dialect, model).values(**row)
            renewed = {name: value for name, value in row.items() if name not in _KEPT}
            await session.execute(statement.on_conflict_do_update(index_elements=["host_id", "id"], set_=renewed))


async def change_incident(database: Database, incident_id: str, change: Mapping[str, Any]) -> bool:
    """Set what people say of an incident; a ``comment`` or ``assignment`` is added to the others. False where there is
    none."""
    async with database.write() as session:
        row = await session.scalar(select(Incident).where(Incident.id == incident_id))
        if row is None:
            return False
        for name, value in change.items():
            if name == "comment":
                row.comments = [*row.comments, value]
            elif name == "assignment":
                row.assignments = [*row.assignments, value]
            else:
                setattr(row, name, value)
    return True


_KEPT = frozenset({"host_id", "id", "opened_ns", "acknowledged_ns", "acknowledged_by", "comments", "assignments"})
