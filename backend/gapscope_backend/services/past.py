"""The fleet in a minute that is over, from the stored minutes of GPUs. What is not stored is None, never 0."""

from __future__ import annotations

from dataclasses import dataclass

from gapscope_backend.services.hosts import RETIRED_NS, gpu_order
from gapscope_backend.store.database import Database
from gapscope_backend.store.minutes import MINUTE_NS
from gapscope_backend.store.models import DeviceMinute, Entity, Host, Incident
from gapscope_backend.store.past import (
    devices_at,
    gpus_seen,
    hosts_until,
    hosts_waiting,
    incidents_at,
    minute_bounds,
)


@dataclass(frozen=True)
class PastHost:
    """A host in that minute. ``gpus`` are those seen in the day before; one without a row has told nothing.

    ``waiting``: batches of the minute are stored but not summed up yet.
    """

    host: Host
    gpus: list[tuple[Entity, DeviceMinute | None]]
    incidents: list[Incident]
    waiting: bool

    minute_ns: int

    @property
    def idle_gpu_seconds(self) -> float | None:
        """GPU-seconds below 10 % activity, of the GPUs that were measured; None where none was.

        A GPU counts from its first to its last data: of the minute in which a host began, only what it was there for.
        """
        idle = [
            row.idle_ratio * self._seconds_of(gpu)
            for gpu, row in self.gpus
            if row is not None and row.idle_ratio is not None
        ]
        return sum(idle) if idle else None

    def _seconds_of(self, gpu: Entity) -> float:
        """A GPU's last sight is written ahead of its data; the host's data bounds it."""
        start_ns = max(self.minute_ns, gpu.first_seen_ns)
        end_ns = min(self.minute_ns + MINUTE_NS, gpu.last_seen_ns, self.host.last_data_ns)
        return max(0, end_ns - start_ns) / 1e9


@dataclass(frozen=True)
class PastFleet:
    """All hosts in the minute that starts at ``minute_ns``."""

    minute_ns: int
    hosts: list[PastHost]


async def fleet_at(database: Database, at_ns: int | None) -> PastFleet | None:
    """The fleet in the minute that holds a moment, by default the newest that is stored; None while none is."""
    bounds = await minute_bounds(database)
    if bounds is None:
        return None
    minute_ns = bounds[1] if at_ns is None else at_ns // MINUTE_NS * MINUTE_NS
    end_ns = minute_ns + MINUTE_NS
    hosts = await hosts_until(database, end_ns)
    gpus = await gpus_seen(database, [host.id for host in hosts], end_ns - RETIRED_NS, end_ns)
    rows = await devices_at(database, minute_ns)
    incidents = await incidents_at(database, minute_ns)
    waiting = await hosts_waiting(database, minute_ns)
    told = []
    for host in hosts:
        measured = rows.get(host.id, {})
        known = [(gpu, measured.get(gpu.key)) for gpu in sorted(gpus.get(host.id, []), key=gpu_order)]
        told.append(PastHost(host, known, incidents.get(host.id, []), host.id in waiting, minute_ns))
    return PastFleet(minute_ns, told)
