"""How often incidents opened, and what pins keep: counts over the stored rows."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import case, func, select

from gapscope_backend.store.database import Database
from gapscope_backend.store.incidents import OPEN
from gapscope_backend.store.models import Host, Incident, Pin


@dataclass(frozen=True)
class Fired:
    """Incidents of one cause on one host that opened in a span."""

    host: str
    cause: str
    row_class: str
    count: int
    still_open: int
    lost_gpu_seconds: float


async def fired_between(database: Database, start_ns: int, end_ns: int) -> list[Fired]:
    """By host and cause, most often first. It goes by when the server opened an incident, not by its data's time."""
    count = func.count()
    query = (
        select(
            Host.name,
            Incident.cause,
            Incident.row_class,
            count,
            func.sum(case((Incident.state == OPEN, 1), else_=0)),
            func.sum(Incident.lost_gpu_seconds),
        )
        .join(Host, Host.id == Incident.host_id)
        .where(Incident.opened_ns >= start_ns, Incident.opened_ns < end_ns)
        .group_by(Host.name, Incident.cause, Incident.row_class)
        .order_by(count.desc(), Host.name, Incident.cause)
    )
    async with database.read() as session:
        return [
            Fired(row[0], row[1], row[2], row[3], int(row[4]), float(row[5])) for row in await session.execute(query)
        ]


async def opened_per_step(database: Database, start_ns: int, step_ns: int, steps: int) -> list[int]:
    """How many opened in each of so many steps from a moment on."""
    counts = [0] * steps
    query = select(Incident.opened_ns).where(
        Incident.opened_ns >= start_ns, Incident.opened_ns < start_ns + steps * step_ns
    )
    async with database.read() as session:
        for opened_ns in await session.scalars(query):
            counts[(opened_ns - start_ns) // step_ns] += 1
    return counts


async def pinned_incidents(database: Database, limit: int) -> tuple[int, list[tuple[Pin, Incident, str]]]:
    """Number of pins, and the newest of them with their incident and host."""
    query = (
        select(Pin, Incident, Host.name)
        .join(Incident, (Incident.host_id == Pin.host_id) & (Incident.id == Pin.id))
        .join(Host, Host.id == Pin.host_id)
        .order_by(Pin.start_ns.desc(), Pin.id)
        .limit(limit)
    )
    async with database.read() as session:
        total = await session.scalar(select(func.count()).select_from(Pin))
        return int(total or 0), [(pin, incident, name) for pin, incident, name in await session.execute(query)]
