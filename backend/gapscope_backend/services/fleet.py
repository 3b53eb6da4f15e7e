"""The fleet at a glance: for each host its newest figures, its GPUs' last minute and a verdict on it.

The costly part (last minute and verdict) is computed at most once every ``RENEW_NS`` a host and only when new data
came in, in the background of the answer that found it old; that answer still tells the previous one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Window
from gapscope_backend.services.diagnosis import Diagnosis
from gapscope_backend.services.gaps import ACTIVE_METRIC
from gapscope_backend.services.hosts import gpu_order
from gapscope_backend.services.windows import load_window, logical_cpus
from gapscope_backend.store.database import Database
from gapscope_backend.store.hosts import list_entities, list_hosts, read_latest
from gapscope_backend.store.latest import Latest
from gapscope_backend.store.models import Entity, Host
from gapscope_backend.store.reader import Selection

MINUTE_NS = 60_000_000_000
STEPS = 60
RENEW_NS = 10_000_000_000
FIRST_WAIT_SECONDS = 5.0

_ACTIVE = Selection(("gpu:*",), frozenset({ACTIVE_METRIC, "gpu_utilization_ratio"}))

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LastMinute:
    """The minute before ``data_end_ns``: active ratio of each GPU in steps of a second (NaN: none), and a verdict."""

    data_end_ns: int
    made_ns: int
    active: dict[str, list[float]]
    verdict: Verdict | None


@dataclass(frozen=True)
class HostGlance:
    """A host on the fleet page."""

    host: Host
    gpus: list[Entity]
    latest: Latest
    logical_cpus: int | None
    minute: LastMinute | None


class Fleet:
    """Glances at all hosts, with the costly part cached."""

    def __init__(self, database: Database, diagnosis: Diagnosis, clock: Callable[[], int]) -> None:
        self._database = database
        self._diagnosis = diagnosis
        self._clock = clock
        self._minutes: dict[int, LastMinute] = {}
        self._running: dict[int, asyncio.Task[None]] = {}

    async def glance(self) -> list[HostGlance]:
        """All hosts by name. A host's first answer waits for its last minute, later ones do not."""
        hosts = await list_hosts(self._database)
        for host in hosts:
            if self._is_old(host):
                self._renew(host)
        unseen = [self._running[host.id] for host in hosts if host.id not in self._minutes and host.id in self._running]
        if unseen:
            await asyncio.wait(unseen, timeout=FIRST_WAIT_SECONDS)
        return [await self._glance(host) for host in hosts]

    async def close(self) -> None:
        """End what is still being computed."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _is_old(self, host: Host) -> bool:
        held = self._minutes.get(host.id)
        return held is None or (held.data_end_ns != host.last_data_ns and self._clock() - held.made_ns >= RENEW_NS)

    def _renew(self, host: Host) -> None:
        if host.id not in self._running:
            task = asyncio.create_task(self._compute(host), name=f"last minute of {host.name}")
            self._running[host.id] = task
            task.add_done_callback(lambda _: self._running.pop(host.id, None))

    async def _compute(self, host: Host) -> None:
        end_ns = host.last_data_ns
        start_ns = end_ns - MINUTE_NS
        try:
            # A minute that is only partly there is no lost time: the verdict begins with the host's first data.
            verdict = await self._diagnosis.diagnose(host, max(start_ns, host.first_data_ns), end_ns)
            window = await load_window(self._database, host, start_ns, end_ns, _ACTIVE, with_stacks=False)
            active = await asyncio.to_thread(_active_seconds, window)
        except Exception:
            # A loop runner: one host's bad minute must not empty the page; it shows no verdict and the log says why.
            log.exception("the last minute of host %s cannot be computed", host.name)
            self._minutes[host.id] = LastMinute(end_ns, self._clock(), {}, None)
            return
        self._minutes[host.id] = LastMinute(end_ns, self._clock(), active, verdict)

    async def _glance(self, host: Host) -> HostGlance:
        entities = await list_entities(
            self._database, host.id, host.last_data_ns - MINUTE_NS, host.last_data_ns + 1, ("gpu", "host", "core")
        )
        _, latest = await read_latest(self._database, host.id)
        gpus = sorted((entity for entity in entities if entity.kind == "gpu"), key=gpu_order)
        return HostGlance(host, gpus, latest, logical_cpus(host, entities) or None, self._minutes.get(host.id))


def _active_seconds(window: Window) -> dict[str, list[float]]:
    """Mean active ratio of each GPU in each second; the driver's utilization where there is no hardware counter."""
    out: dict[str, list[float]] = {}
    for gpu in window.gpus:
        cells = window.gpu_cells(gpu, ACTIVE_METRIC)
        if np.isnan(cells).all():
            cells = window.cells(gpu.key, "gpu_utilization_ratio")
        rows = np.resize(cells, (STEPS, cells.size // STEPS))
        known = ~np.isnan(rows)
        sums = np.where(known, rows, 0.0).sum(axis=1)
        counts = known.sum(axis=1)
        means = np.full(STEPS, np.nan)
        np.divide(sums, counts, out=means, where=counts > 0)
        out[gpu.key] = np.round(means, 4).tolist()
    return out
