"""Agents as their newest batches tell of them: version, cost, and the ledger of every value that they took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gapscope_backend.services.windows import logical_cpus
from gapscope_backend.store.database import Database
from gapscope_backend.store.hosts import count_cores, entities_near_end, latest_of, list_hosts
from gapscope_backend.store.minutes import MINUTE_NS
from gapscope_backend.store.models import Host


@dataclass(frozen=True)
class Agent:
    """The agent of a host; what it costs is None where it did not tell. Counts are values since the agent's start."""

    host: Host
    logical_cpus: int | None
    cpu_cores: float | None
    stacks_cpu_cores: float | None
    resident_bytes: float | None
    sampled: int
    delivered: int
    waiting: int
    dropped: dict[str, int]

    @property
    def unaccounted(self) -> int:
        """What the terms of the ledger leave over."""
        return self.sampled - self.delivered - self.waiting - sum(self.dropped.values())


async def list_agents(database: Database) -> list[Agent]:
    """The agents of all hosts, by host name."""
    hosts = await list_hosts(database)
    ids = [host.id for host in hosts]
    latest = await latest_of(database, ids, ("host",))
    facts = await entities_near_end(database, ids, MINUTE_NS, ("host",))
    cores = await count_cores(database, [host.id for host in hosts if not logical_cpus(host, facts.get(host.id, []))])
    agents = []
    for host in hosts:
        values = {name: point[1] for name, point in latest.get(host.id, {}).get("host", {}).items()}
        cpus = logical_cpus(host, facts.get(host.id, [])) or cores.get(host.id)
        agents.append(_agent(host, cpus, values))
    return agents


def _agent(host: Host, cpus: int | None, values: dict[str, float | None]) -> Agent:
    told: dict[str, Any] = host.accounting
    return Agent(
        host=host,
        logical_cpus=cpus,
        cpu_cores=values.get("agent_cpu_cores"),
        stacks_cpu_cores=values.get("stack_sampler_cpu_cores"),
        resident_bytes=values.get("agent_resident_bytes"),
        sampled=told.get("sampled", 0),
        delivered=told.get("delivered", 0),
        waiting=told.get("spooled", 0) + told.get("buffered", 0),
        dropped=dict(told.get("dropped", {})),
    )
