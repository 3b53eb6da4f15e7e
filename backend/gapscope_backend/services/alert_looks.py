"""Looks for the rules, out of what the watch and ingest have stored: of now, and of a time that nobody looked at."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gapscope_agent.catalog import BY_NAME
from gapscope_backend.alerts.look import (
    DropLook,
    DropsLook,
    EventLook,
    GpuFacts,
    HostFacts,
    Ledgers,
    Point,
    ValuesLook,
    read_ledgers,
)
from gapscope_backend.analysis.causes.cause import GOOD, LIMIT, UNUSED
from gapscope_backend.analysis.drops import DropState, Status
from gapscope_backend.services.hosts import number_label, whole_label
from gapscope_backend.services.watch import DROP, Watch
from gapscope_backend.store.alerts import Stand, hosts_of, incidents_of, minutes_between, verdicts_of, watches_of
from gapscope_backend.store.database import Database
from gapscope_backend.store.hosts import entities_near_end, latest_of
from gapscope_backend.store.models import Entity, Event, Host, HostWatch, Incident
from gapscope_backend.store.reader import Selection, read_tier
from gapscope_backend.store.tiers import TIERS

SECOND_NS = 1_000_000_000
GPUS_KNOWN_NS = 24 * 3600 * SECOND_NS
"""A GPU that its host has not told of for so long is gone for good."""
FACTS_NS = 60 * SECOND_NS
LOWEST = frozenset({"pcie_link_generation", "pcie_link_width_lanes"})
"""Metrics whose lowest value of a stretch counts; of all others the highest does."""


@dataclass
class Facts:
    """Facts of hosts, read again when they change, and now and then. ``clock`` gives ns since the epoch."""

    database: Database
    _held: dict[int, tuple[bytes, int, HostFacts]] = field(default_factory=dict)

    async def of(self, stands: Sequence[Stand], now_ns: int) -> dict[int, HostFacts]:
        """The facts of these hosts, by id."""
        stale = [stand.host_id for stand in stands if self._is_stale(stand, now_ns)]
        if stale:
            hosts = await hosts_of(self.database, stale)
            gpus = await entities_near_end(self.database, stale, GPUS_KNOWN_NS, ("gpu",))
            for host_id, host in hosts.items():
                facts = facts_of(host, gpus.get(host_id, []))
                self._held[host_id] = (host.facts_digest, now_ns, facts)
        return {stand.host_id: self._held[stand.host_id][2] for stand in stands if stand.host_id in self._held}

    def _is_stale(self, stand: Stand, now_ns: int) -> bool:
        held = self._held.get(stand.host_id)
        return held is None or held[0] != stand.facts_digest or not 0 <= now_ns - held[1] < FACTS_NS


def facts_of(host: Host, gpus: Iterable[Entity]) -> HostFacts:
    """A host and its GPUs."""
    known = {
        gpu.key: GpuFacts(
            key=gpu.key,
            index=whole_label(gpu.labels, "index"),
            name=gpu.labels.get("name", ""),
            memory_total_bytes=number_label(gpu.labels, "memory_total_bytes"),
            pcie_generation=number_label(gpu.labels, "pcie_max_generation"),
            pcie_width=number_label(gpu.labels, "pcie_max_width"),
        )
        for gpu in gpus
    }
    return HostFacts(host.id, host.name, host.labels, host.recorded, False, host.first_data_ns, known)


async def ledgers_since(
    database: Database, host_ids: Sequence[int], seen: Mapping[int, int]
) -> dict[int, list[Ledgers]]:
    """The newest ledgers of these hosts, before them the kept minutes since ``seen`` (data time, by host)."""
    found: dict[int, list[Ledgers]] = {}
    for host_id, verdict in (await verdicts_of(database, host_ids)).items():
        newest = read_ledgers(verdict)
        if newest is None:
            continue
        since_ns, missed = seen.get(host_id, 0), []
        if since_ns and newest.start_ns > since_ns:
            told = map(read_ledgers, await minutes_between(database, host_id, since_ns, newest.end_ns - 1))
            missed = [ledgers for ledgers in told if ledgers is not None]
        found[host_id] = [*missed, newest]
    return found


async def drops_of(
    database: Database,
    host_ids: Sequence[int],
    seen: Mapping[int, int],
    ledgers: Mapping[int, Ledgers | None],
) -> dict[int, DropsLook]:
    """What the detectors of these hosts tell: drops that go on, and those that ended since ``seen``."""
    watches = await watches_of(database, host_ids)
    looks = {host_id: drops_in(row, seen.get(host_id, 0)) for host_id, row in watches.items()}
    told = [host_id for host_id, look in looks.items() if look.current or look.over]
    if not told:
        return looks
    spans = [drop for host_id in told for drop in [*looks[host_id].current.values(), *looks[host_id].over]]
    first_ns, last_ns = min(drop.start_ns for drop in spans), max(drop.end_ns for drop in spans)
    incidents = await incidents_of(database, told, first_ns, last_ns)
    unexplained = [host_id for host_id in told if ledgers.get(host_id) is None]
    fallback = {key: read_ledgers(verdict) for key, verdict in (await verdicts_of(database, unexplained)).items()}
    for host_id in told:
        known = ledgers.get(host_id) or fallback.get(host_id)
        looks[host_id] = explained(looks[host_id], incidents[host_id], known)
    return looks


def drops_in(row: HostWatch, since_ns: int) -> DropsLook:
    """The drops of a stored watch, without causes."""
    watch = Watch.from_json(row.watermark_ns, row.state)
    current, measured = current_drops(watch)
    over = over_drops(drop for drop in watch.over if drop["noted_ns"] > since_ns)
    return DropsLook(row.watermark_ns, current, over, measured)


def current_drops(watch: Watch) -> tuple[dict[str, DropLook], frozenset[str]]:
    """The drops that go on, by GPU, and the GPUs that have data."""
    current = {key: _current(key, state) for key, state in watch.gpus.items() if state.dropped}
    return current, frozenset(key for key, state in watch.gpus.items() if state.status is not Status.NO_DATA)


def over_drops(drops: Iterable[Mapping[str, Any]]) -> list[DropLook]:
    """Drops that a watch remembers as over."""
    return [_over(drop) for drop in drops]


def _current(gpu: str, state: DropState) -> DropLook:
    drop = state.as_drop(ongoing=True)
    return DropLook(gpu, drop.start_ns, drop.end_ns, drop.measured_ns, True, drop.active_ratio, drop.threshold_ratio)


def _over(drop: Mapping[str, Any]) -> DropLook:
    return DropLook(
        drop["gpu"],
        drop["start_ns"],
        drop["end_ns"],
        drop["measured_ns"],
        False,
        drop["active_ratio"],
        drop["threshold_ratio"],
    )


def explained(look: DropsLook, incidents: Sequence[Incident], ledgers: Ledgers | None) -> DropsLook:
    """The drops with their causes: their incident's, else what was nobody's fault by the newest ledger."""
    current = {key: _explain(drop, incidents, ledgers) for key, drop in look.current.items()}
    return DropsLook(look.at_ns, current, [_explain(drop, incidents, ledgers) for drop in look.over], look.measured)


def _explain(drop: DropLook, incidents: Sequence[Incident], ledgers: Ledgers | None) -> DropLook:
    for incident in incidents:
        if any(_is_of(episode, drop) for episode in incident.episodes):
            return _with_cause(drop, incident.cause, incident.row_class, incident.id)
    if ledgers is None or not (ledgers.start_ns < drop.end_ns and drop.start_ns < ledgers.end_ns):
        return drop
    rows = next((gpu.ledger for gpu in ledgers.gpus if gpu.gpu == drop.gpu), [])
    lost = [row for row in rows if row.row_class != GOOD]
    most = max(lost, key=lambda row: row.gpu_seconds, default=None)
    if most is None or most.row_class not in (UNUSED, LIMIT):
        return drop  # a fault has an incident, or will have one
    return _with_cause(drop, most.cause, most.row_class, "")


def _is_of(episode: Mapping[str, Any], drop: DropLook) -> bool:
    return bool(
        episode["gpu"] == drop.gpu
        and episode["kind"] == DROP
        and episode["start_ns"] < drop.end_ns
        and drop.start_ns < episode["end_ns"]
    )


def _with_cause(drop: DropLook, cause: str, row_class: str, incident: str) -> DropLook:
    told = (drop.gpu, drop.start_ns, drop.end_ns, drop.held_ns, drop.ongoing, drop.active_ratio, drop.threshold_ratio)
    return DropLook(*told, cause, row_class, incident)


async def values_of(database: Database, stands: Sequence[Stand], metrics: Collection[str]) -> dict[int, ValuesLook]:
    """The newest values of these hosts' GPUs."""
    latest = await latest_of(database, [stand.host_id for stand in stands], ("gpu:",), frozenset(metrics))
    return {stand.host_id: ValuesLook(stand.latest_ns, latest.get(stand.host_id, {})) for stand in stands}


async def values_between(
    database: Database, host_id: int, start_ns: int, end_ns: int, metrics: Collection[str]
) -> list[ValuesLook]:
    """The values of a host's GPUs over a time that is past, one look every 10 s."""
    tier = TIERS[0]
    parts = await read_tier(database, host_id, start_ns, end_ns, Selection(("gpu:*",), frozenset(metrics)), tier)
    looks: dict[int, dict[str, dict[str, Point]]] = {}
    for part in parts:
        for number, (entity, metric) in enumerate(part.rows):
            figures = (part.minimum if metric in LOWEST else part.maximum)[number] * BY_NAME[metric].quantum
            for at in np.flatnonzero(part.counts[number] > 0).tolist():
                at_ns = int(part.times[at]) + tier.width_ns
                looks.setdefault(at_ns, {}).setdefault(entity, {})[metric] = (at_ns, float(figures[at]))
    return [ValuesLook(at_ns, points) for at_ns, points in sorted(looks.items()) if start_ns < at_ns <= end_ns]


def event_look(event: Event) -> EventLook:
    """An event as rules see it."""
    return EventLook(event.t_ns, event.kind, event.text, event.entity)
