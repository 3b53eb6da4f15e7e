"""The last minutes of all hosts: judged here, or taken from where the watch has stored them.

The watch judges and stores them; a process without it refreshes its own from the store and judges a minute itself only
where none was ever stored.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from gapscope_backend.alerts.look import slim_ledgers
from gapscope_backend.analysis.language import as_message, from_message
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.services.background import end
from gapscope_backend.services.diagnosis import Diagnosis
from gapscope_backend.services.last_minute import MINUTE_NS, LastMinute, active_seconds
from gapscope_backend.services.recent import Recent
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Host, HostVerdict
from gapscope_backend.store.watch import read_verdicts, store_verdicts, verdict_times

log = logging.getLogger(__name__)


@dataclass
class Minutes:
    """The newest that is known of each host's last minute. ``clock`` gives ns since the epoch."""

    database: Database
    diagnosis: Diagnosis
    clock: Callable[[], int]
    _recent: Recent = field(init=False)
    _held: dict[int, LastMinute] = field(default_factory=dict)
    _running: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    _kept_ns: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._recent = Recent(self.database)

    def get(self, host_id: int) -> LastMinute | None:
        """A host's last minute, if it is known."""
        return self._held.get(host_id)

    def forget(self, host_id: int) -> None:
        """Read a host's data anew next time: some came late."""
        self._recent.forget(host_id)

    def renew(self, host: Host) -> asyncio.Task[None]:
        """Judge a host's last minute in the background, once at a time."""
        if host.id not in self._running:
            task = asyncio.create_task(self._renew(host), name=f"last minute of {host.name}")
            self._running[host.id] = task
            task.add_done_callback(lambda _: self._running.pop(host.id, None))
        return self._running[host.id]

    async def refresh(self) -> None:
        """Take up what was stored since; what another version wrote in another form is left out."""
        times = await verdict_times(self.database)
        held = {host_id: minute.made_ns for host_id, minute in self._held.items()}
        newer = [host_id for host_id, made_ns in times.items() if made_ns > held.get(host_id, -1)]
        for row in await read_verdicts(self.database, newer):
            minute = _stored(row)
            if minute is not None:
                self._held[row.host_id] = minute

    async def store(self, hosts: Iterable[Host]) -> None:
        """Keep the minutes of these hosts."""
        rows: dict[int, dict[str, Any]] = {}
        kept: dict[int, bytes] = {}
        for host in hosts:
            minute = self._held[host.id]
            if minute.verdict is not None:
                rows[host.id] = {
                    "start_ns": minute.verdict.start_ns,
                    "end_ns": minute.verdict.end_ns,
                    "made_ns": minute.made_ns,
                    "verdict": msgspec.json.encode(minute.verdict, enc_hook=as_message),
                    "active": msgspec.json.encode(minute.active),
                }
                if minute.verdict.start_ns >= self._kept_ns.get(host.id, 0):
                    kept[host.id] = slim_ledgers(rows[host.id]["verdict"])
        if rows:
            await store_verdicts(self.database, rows, kept)
            self._kept_ns |= {host_id: rows[host_id]["end_ns"] for host_id in kept}

    async def close(self) -> None:
        """End what is still being computed."""
        await end(self._running.values())

    async def _renew(self, host: Host) -> None:
        try:
            self._held[host.id] = await self._judge(host)
        except Exception:
            # A loop runner: one host's bad minute must not empty the page; it shows no verdict and the log says why.
            log.exception("the last minute of host %s cannot be computed", host.name)
            self._held[host.id] = LastMinute(host.last_data_ns, self.clock(), {}, None)

    async def _judge(self, host: Host) -> LastMinute:
        end_ns = host.last_data_ns
        window = await self._recent.window(host, end_ns - MINUTE_NS, end_ns)
        # A minute that is only partly there is no lost time: the verdict begins with the host's first data.
        judged = replace(window, start_ns=max(window.start_ns, host.first_data_ns))
        verdict = await self.diagnosis.judge(judged)
        return LastMinute(end_ns, self.clock(), await asyncio.to_thread(active_seconds, window), verdict)


def _stored(row: HostVerdict) -> LastMinute | None:
    try:
        verdict = msgspec.json.decode(row.verdict, type=Verdict, dec_hook=from_message)
        told = msgspec.json.decode(row.active, type=dict[str, list[float | None]])
    except msgspec.ValidationError:
        return None
    active = {gpu: [math.nan if value is None else value for value in values] for gpu, values in told.items()}
    return LastMinute(row.end_ns, row.made_ns, active, verdict)
