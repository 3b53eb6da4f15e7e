"""Incidents: episodes of a host's GPUs put together by cause, opened, updated and closed.

An episode belongs to the incident that holds it already; else, by the cause that is diagnosed over it, to one of the
same cause that was open within ``MERGE_NS``; else it opens a new one, if its cause is a fault or not explained. Ids are
made of what was found, and rows are written with the state of the watch in one transaction: a server that is killed
at any moment finds the same episodes again and meets the incidents that it had made of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from gapscope_backend.analysis.focus import fault_row, focus
from gapscope_backend.services.diagnosis import Diagnosis
from gapscope_backend.services.incident_verdict import SEGMENT_NS, judge
from gapscope_backend.services.watch import COSTLY, Episode, Watch
from gapscope_backend.store.database import Database
from gapscope_backend.store.hosts import list_hosts
from gapscope_backend.store.incidents import CLOSED, OPEN, incidents_near, open_incidents, store_incidents
from gapscope_backend.store.models import Host, Incident
from gapscope_backend.store.watch import store_watch

_SECOND_NS = 1_000_000_000
MERGE_NS = 120 * _SECOND_NS
"""The same cause again after a pause of at most this is the same incident going on."""
PINNED_AROUND_NS = 300 * _SECOND_NS
PINNED_NS = 90 * 24 * 3600 * _SECOND_NS
LONGEST_WAIT_NS = 60 * _SECOND_NS
"""An open incident is diagnosed anew when it has grown by a quarter, or by this."""
MAX_EPISODES = 50
"""The newest episodes of an incident that comes and goes; the older ones are in its span."""
SILENT_NS = 24 * 3600 * _SECOND_NS
SILENT_RECORDING_NS = 60 * _SECOND_NS
"""A recording that has been silent for so long is over; a host may come back."""

ENDED = "recovered"
DATA_ENDED = "data_ended"


Fence = Callable[[AsyncSession], Awaitable[None]]


async def no_fence(_session: AsyncSession) -> None:
    """Let every write pass: there is one watch only."""


class Incidents:
    """Keeps the incidents of all hosts. ``clock`` gives nanoseconds since the epoch.

    ``fence`` is called in each transaction before anything is written; it raises where that is another's task by now.
    """

    def __init__(
        self, database: Database, diagnosis: Diagnosis, clock: Callable[[], int], fence: Fence = no_fence
    ) -> None:
        self._database = database
        self._diagnosis = diagnosis
        self._clock = clock
        self._fence = fence
        self._looked: dict[tuple[int, str, str, int], int] = {}

    async def record(self, host: Host, watch: Watch | None, episodes: Iterable[Episode], late: bool = False) -> bool:
        """Put episodes into incidents; with ``watch``, its state is written with them. True if anything was written.

        ``late`` marks episodes found in data that came after newer data: they never open again what is closed.
        """
        found = list(episodes)
        due = await self._sort_in(host, found, late) if found else []
        for incident in due:
            await self._renew(host, incident)
        if due:
            await self._store(host, watch, due)
        return bool(due)

    async def close_silent(self) -> None:
        """Close incidents of hosts whose data has ended, at the last moment that is known of them."""
        incidents = await open_incidents(self._database)
        hosts = {host.id: host for host in await list_hosts(self._database)} if incidents else {}
        for incident in incidents:
            host = hosts[incident.host_id]
            limit_ns = SILENT_RECORDING_NS if host.recorded else SILENT_NS
            if self._clock() - host.last_seen_ns > limit_ns:
                incident.episodes = [{**episode, "ongoing": False} for episode in incident.episodes]
                await self._renew(host, incident, DATA_ENDED)
                await self._store(host, None, [incident])

    async def _sort_in(self, host: Host, found: list[Episode], late: bool) -> list[Incident]:
        start_ns = min(episode.start_ns for episode in found) - MERGE_NS
        end_ns = max(episode.end_ns for episode in found) + MERGE_NS
        near = await incidents_near(self._database, host.id, start_ns, end_ns)
        due: dict[str, Incident] = {}
        for episode in found:
            incident = next((one for one in near if any(_same(known, episode) for known in one.episodes)), None)
            if incident is None:
                cause = episode.cause or await self._cause(host, episode)
                if not cause:
                    continue
                incident = next((one for one in near if one.cause == cause and _close_to(one, episode)), None)
                if incident is None:
                    incident = _new(host, episode, cause, self._clock())
                    near.append(incident)
            if _lay_in(incident, episode, late):
                due[incident.id] = incident
        return list(due.values())

    async def _cause(self, host: Host, episode: Episode) -> str:
        """The cause of an episode that has no incident yet; empty where it is nobody's fault, or was just looked at."""
        key = (host.id, episode.gpu, episode.kind, episode.start_ns)
        looked_ns = self._looked.get(key)
        if episode.ongoing and looked_ns is not None and not _has_grown(episode.start_ns, looked_ns, episode.end_ns):
            return ""
        start_ns = max(episode.start_ns, episode.end_ns - SEGMENT_NS)
        verdict = await self._diagnosis.diagnose(host, start_ns, episode.end_ns)
        row = fault_row(focus(verdict, (episode.gpu,)).ledger)
        self._looked.pop(key, None)
        if row is None and episode.ongoing:
            self._looked[key] = episode.end_ns
        return row.cause if row else ""

    async def _renew(self, host: Host, incident: Incident, reason: str = ENDED) -> None:
        """Bring an incident to the state of its episodes and diagnose it."""
        now_ns = self._clock()
        ongoing = any(episode["ongoing"] for episode in incident.episodes)
        start_ns = min(episode["start_ns"] for episode in incident.episodes)
        if start_ns < incident.start_ns:
            incident.start_ns = incident.settled_until_ns = start_ns
            incident.settled = {}
        incident.end_ns = max(episode["end_ns"] for episode in incident.episodes)
        incident.gpus = sorted({*incident.gpus, *(episode["gpu"] for episode in incident.episodes)})
        incident.state = OPEN if ongoing else CLOSED
        incident.end_reason = "" if ongoing else reason
        incident.closed_ns = None if ongoing else now_ns
        incident.updated_ns = now_ns
        await judge(incident, partial(self._diagnosis.diagnose, host))

    async def _store(self, host: Host, watch: Watch | None, incidents: list[Incident]) -> None:
        async with self._database.write() as session:
            await self._fence(session)
            rows, pins = [_values(incident) for incident in incidents], [_pin(incident) for incident in incidents]
            await store_incidents(session, self._database.dialect, rows, pins)
            if watch is not None:
                await save_watch(session, self._database.dialect, host.id, watch, self._clock())


async def save_watch(session: AsyncSession, dialect: str, host_id: int, watch: Watch, now_ns: int) -> None:
    """Write down what the watch over a host remembers."""
    await store_watch(session, dialect, host_id, watch.watermark_ns, now_ns, watch.to_json())


def _new(host: Host, episode: Episode, cause: str, now_ns: int) -> Incident:
    name = "\0".join((host.name, episode.gpu, episode.kind, str(episode.start_ns)))
    return Incident(
        host_id=host.id,
        id=hashlib.sha256(name.encode()).hexdigest()[:16],
        state=OPEN,
        end_reason="",
        gpus=[],
        cause=cause,
        start_ns=episode.start_ns,
        end_ns=episode.start_ns,
        settled_until_ns=episode.start_ns,
        settled={},
        episodes=[],
        verdict=b"",
        opened_ns=now_ns,
        closed_ns=None,
        acknowledged_ns=None,
        acknowledged_by="",
        comments=[],
        assignments=[],
    )


def _same(known: dict[str, Any], episode: Episode) -> bool:
    """Whether an episode is one that is known, perhaps shorter."""
    return bool(
        known["gpu"] == episode.gpu
        and known["kind"] == episode.kind
        and known["start_ns"] <= episode.end_ns
        and episode.start_ns <= known["end_ns"]
    )


def _close_to(incident: Incident, episode: Episode) -> bool:
    return episode.start_ns <= _reach_ns(incident) + MERGE_NS and episode.end_ns >= incident.start_ns - MERGE_NS


def _reach_ns(incident: Incident) -> int:
    return max((episode["end_ns"] for episode in incident.episodes), default=incident.end_ns)


def _lay_in(incident: Incident, episode: Episode, late: bool) -> bool:
    """Add an episode to an incident, or renew the one that it goes on from; tell whether a new diagnosis is due.

    A costly stretch is told by whole rolling windows: it does not move the start of an incident back.
    """
    bound_ns = incident.start_ns if episode.kind == COSTLY else episode.start_ns
    told = {
        "gpu": episode.gpu,
        "kind": episode.kind,
        "start_ns": max(episode.start_ns, bound_ns),
        "end_ns": episode.end_ns,
        "ongoing": episode.ongoing and not late,
    }
    known = [one for one in incident.episodes if _same(one, episode)]
    told["start_ns"] = min([told["start_ns"], *(one["start_ns"] for one in known)])
    told["end_ns"] = max([told["end_ns"], *(one["end_ns"] for one in known)])
    if late and known:
        told["ongoing"] = any(one["ongoing"] for one in known)
    others = [one for one in incident.episodes if not _same(one, episode)]
    incident.episodes = [*others, told][-MAX_EPISODES:]
    turned = len(known) != 1 or known[0]["ongoing"] != told["ongoing"] or told["start_ns"] < known[0]["start_ns"]
    return turned or _has_grown(incident.start_ns, incident.end_ns, _reach_ns(incident))


def _has_grown(start_ns: int, before_ns: int, now_ns: int) -> bool:
    return now_ns - before_ns >= min(LONGEST_WAIT_NS, max(_SECOND_NS, (before_ns - start_ns) // 4))


def _values(incident: Incident) -> dict[str, Any]:
    return {column.key: getattr(incident, column.key) for column in Incident.__table__.columns}


def _pin(incident: Incident) -> dict[str, Any]:
    return {
        "host_id": incident.host_id,
        "id": incident.id,
        "start_ns": incident.start_ns - PINNED_AROUND_NS,
        "end_ns": incident.end_ns + PINNED_AROUND_NS,
        "until_ns": None if incident.closed_ns is None else incident.closed_ns + PINNED_NS,
    }
