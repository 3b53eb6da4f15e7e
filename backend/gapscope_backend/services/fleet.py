"""The fleet at a glance: for each host its newest figures, its GPUs' last minute and the rolling verdict on it.

A thousand hosts are asked for every few seconds while most of them have told nothing new; so what a host shows is kept
as a *board* and made again only when something of it changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gapscope_backend.services.gaps import ACTIVE_METRIC
from gapscope_backend.services.hosts import gpu_order
from gapscope_backend.services.last_minute import MINUTE_NS, LastMinute
from gapscope_backend.services.minutes import Minutes
from gapscope_backend.services.windows import logical_cpus
from gapscope_backend.store.database import Database
from gapscope_backend.store.hosts import count_cores, entities_near_end, latest_of, latest_times, list_hosts
from gapscope_backend.store.incidents import count_open
from gapscope_backend.store.latest import Latest
from gapscope_backend.store.models import Entity, Host

SHOWN = frozenset(
    {"cpu_busy_cores", "gpu_memory_used_bytes", "gpu_power_watts", "gpu_utilization_ratio", ACTIVE_METRIC}
)
"""Metrics whose newest values a board holds."""
FIRST_WAIT_SECONDS = 5.0
JUDGED_HERE = 16
"""Hosts whose last minute is judged on request where the watch has not come to them yet; more would take too long."""
FACTS_NS = 60_000_000_000
"""A host's entities are read again after this, or when they change."""


@dataclass(frozen=True, eq=False)
class Board:
    """What a host shows; a new object whenever that changed. ``latest`` holds what is ``SHOWN``."""

    gpus: list[Entity]
    logical_cpus: int | None
    latest: Latest
    minute: LastMinute | None


@dataclass(frozen=True)
class HostGlance:
    """A host on the fleet page."""

    host: Host
    board: Board
    open_incidents: int


@dataclass(frozen=True)
class _Facts:
    digest: bytes
    read_ns: int
    gpus: list[Entity]
    logical_cpus: int | None


@dataclass
class Fleet:
    """Glances at all hosts; the costly part, verdict and last minute, is what the watch has stored."""

    database: Database
    minutes: Minutes
    clock: Callable[[], int]
    _facts: dict[int, _Facts] = field(default_factory=dict)
    _boards: dict[int, tuple[object, Board]] = field(default_factory=dict)

    async def glance(self) -> list[HostGlance]:
        """All hosts by name. Of a few that the watch has not come to yet, the last minute is judged here and now."""
        hosts = await list_hosts(self.database)
        await self.minutes.refresh()
        unseen = [host for host in hosts if self.minutes.get(host.id) is None]
        if 0 < len(unseen) <= JUDGED_HERE:
            await asyncio.wait([self.minutes.renew(host) for host in unseen], timeout=FIRST_WAIT_SECONDS)
        incidents = await count_open(self.database)
        await self._renew_facts(hosts)
        await self._renew_boards(hosts)
        return [HostGlance(host, self._boards[host.id][1], incidents.get(host.id, 0)) for host in hosts]

    async def _renew_facts(self, hosts: Sequence[Host]) -> None:
        now_ns = self.clock()
        changed = [host for host in hosts if self._is_stale(host, now_ns)]
        entities = await entities_near_end(self.database, [host.id for host in changed], MINUTE_NS, ("gpu", "host"))
        untold = [host.id for host in changed if not logical_cpus(host, entities.get(host.id, []))]
        cores = await count_cores(self.database, untold)
        for host in changed:
            found = entities.get(host.id, [])
            gpus = sorted((entity for entity in found if entity.kind == "gpu"), key=gpu_order)
            cpus = logical_cpus(host, found) or cores.get(host.id)
            self._facts[host.id] = _Facts(host.facts_digest, now_ns, gpus, cpus)

    def _is_stale(self, host: Host, now_ns: int) -> bool:
        facts = self._facts.get(host.id)
        return facts is None or facts.digest != host.facts_digest or now_ns - facts.read_ns >= FACTS_NS

    async def _renew_boards(self, hosts: Sequence[Host]) -> None:
        times = await latest_times(self.database)
        keys = {host.id: (times.get(host.id), self._facts[host.id].read_ns, self._made_ns(host.id)) for host in hosts}
        changed = [host_id for host_id, key in keys.items() if self._boards.get(host_id, (None,))[0] != key]
        latest = await latest_of(self.database, changed, ("gpu:", "host"), SHOWN)
        for host_id in changed:
            facts = self._facts[host_id]
            board = Board(facts.gpus, facts.logical_cpus, latest.get(host_id, {}), self.minutes.get(host_id))
            self._boards[host_id] = (keys[host_id], board)

    def _made_ns(self, host_id: int) -> int:
        minute = self.minutes.get(host_id)
        return minute.made_ns if minute else 0
