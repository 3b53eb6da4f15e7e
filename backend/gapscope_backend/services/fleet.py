"""The fleet at a glance: for each host its newest figures, its GPUs' last minute and the rolling verdict on it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from gapscope_backend.services.hosts import gpu_order
from gapscope_backend.services.last_minute import MINUTE_NS, LastMinute
from gapscope_backend.services.minutes import Minutes
from gapscope_backend.services.windows import logical_cpus
from gapscope_backend.store.database import Database
from gapscope_backend.store.hosts import list_entities, list_hosts, read_latest
from gapscope_backend.store.incidents import count_open
from gapscope_backend.store.latest import Latest
from gapscope_backend.store.models import Entity, Host

FIRST_WAIT_SECONDS = 5.0


@dataclass(frozen=True)
class HostGlance:
    """A host on the fleet page."""

    host: Host
    gpus: list[Entity]
    latest: Latest
    logical_cpus: int | None
    minute: LastMinute | None
    open_incidents: int


class Fleet:
    """Glances at all hosts; the costly part, verdict and last minute, is what the watch has stored."""

    def __init__(self, database: Database, minutes: Minutes) -> None:
        self._database = database
        self._minutes = minutes

    async def glance(self) -> list[HostGlance]:
        """All hosts by name. Of a host that the watch has not come to yet, the last minute is judged here and now."""
        hosts = await list_hosts(self._database)
        await self._minutes.refresh()
        unseen = [self._minutes.renew(host) for host in hosts if self._minutes.get(host.id) is None]
        if unseen:
            await asyncio.wait(unseen, timeout=FIRST_WAIT_SECONDS)
        incidents = await count_open(self._database)
        return [await self._glance(host, incidents.get(host.id, 0)) for host in hosts]

    async def _glance(self, host: Host, incidents: int) -> HostGlance:
        entities = await list_entities(
            self._database, host.id, host.last_data_ns - MINUTE_NS, host.last_data_ns + 1, ("gpu", "host", "core")
        )
        _, latest = await read_latest(self._database, host.id)
        gpus = sorted((entity for entity in entities if entity.kind == "gpu"), key=gpu_order)
        minute = self._minutes.get(host.id)
        return HostGlance(host, gpus, latest, logical_cpus(host, entities) or None, minute, incidents)
