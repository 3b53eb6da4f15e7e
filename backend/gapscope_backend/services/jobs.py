"""The kinds of work that workers do. A new one is one entry in ``JOBS``."""

from __future__ import annotations

import asyncio
import time
from functools import partial

from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.services.background import repeat
from gapscope_backend.services.diagnosis import Diagnosis
from gapscope_backend.services.incidents import Incidents
from gapscope_backend.services.rolling import Rolling
from gapscope_backend.services.worker import JobKind, Tools, Worker
from gapscope_backend.store.database import open_database
from gapscope_backend.store.retention import delete_old
from gapscope_backend.store.work import Lease, LeaseLostError, hold_lease

TICK_SECONDS = 1.0


async def forget(tools: Tools, _lease: Lease) -> None:
    """Delete what is older than the retention."""
    now_ns = tools.clock()
    await delete_old(tools.database, now_ns - round(tools.retention_hours * 3600e9), now_ns)


async def watch(tools: Tools, lease: Lease) -> None:
    """Watch all hosts until cancelled: rolling verdicts and incidents.

    One worker has the watch at a time. When it moves, the new one takes up the states that the old one wrote down and
    goes through what came in since, at most a minute and a half of data; incidents are met again, not doubled.
    """
    diagnosis = Diagnosis(tools.database, tools.analyse)
    fence = partial(hold_lease, lease=lease)
    incidents = Incidents(tools.database, diagnosis, tools.clock, fence)
    rolling = Rolling(tools.database, diagnosis, incidents, tools.clock, tools.monotonic, fence=fence)
    try:
        await repeat("rolling diagnosis", TICK_SECONDS, rolling.tick, (LeaseLostError,))
    finally:
        await rolling.close()


JOBS = (
    JobKind("retention", 300.0, forget),
    JobKind("watch", TICK_SECONDS, watch, endless=True),
)


async def run_worker(url: str, retention_hours: float, name: str, stop: asyncio.Event) -> None:
    """Work on the database at ``url`` until ``stop`` is set. Raises StoreError where it cannot be opened."""
    database = await open_database(url)
    try:
        tools = Tools(database, time.time_ns, time.monotonic, diagnose, retention_hours)
        await Worker(tools, JOBS, name).run(stop)
    finally:
        await database.close()
