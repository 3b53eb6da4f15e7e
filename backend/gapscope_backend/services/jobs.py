"""The kinds of work that workers do. A new one is one entry in ``JOBS``."""

from __future__ import annotations

import asyncio
import time
from functools import partial

from gapscope_backend.alerts.delivery import Deliveries
from gapscope_backend.alerts.egress import Egress
from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.services.alert_rules import sync_rules
from gapscope_backend.services.alerting import Alerting
from gapscope_backend.services.background import repeat
from gapscope_backend.services.diagnosis import Diagnosis
from gapscope_backend.services.incidents import Incidents
from gapscope_backend.services.rolling import Rolling
from gapscope_backend.services.worker import AlertSettings, JobKind, Tools, Worker
from gapscope_backend.store.compaction import SETTLE_NS, due_slots
from gapscope_backend.store.compaction import compact as compact_slot
from gapscope_backend.store.database import open_database
from gapscope_backend.store.merging import merge_tiers
from gapscope_backend.store.retention import Retention, delete_old
from gapscope_backend.store.tiers import SECOND_NS, SLOT_NS
from gapscope_backend.store.work import Lease, LeaseLostError, hold_lease, note_round

TICK_SECONDS = 0.5
DELIVER_SECONDS = 0.5
NOTE_ROUND_NS = 10 * SECOND_NS
EVALUATE_SECONDS = 0.5
SLOTS_AT_ONCE = 50
SPREAD_STEP_NS = 37 * SECOND_NS


async def forget(tools: Tools, _lease: Lease) -> None:
    """Delete what is older than the retention."""
    await delete_old(tools.database, tools.retention, tools.clock())


async def compact(tools: Tools, lease: Lease) -> float:
    """Move what has settled of a host into chunks, and chunks of finished hours and days together."""
    for due in await due_slots(tools.database, tools.clock(), SLOTS_AT_ONCE, lease.host_id):
        await compact_slot(tools.database, due)
    await merge_tiers(tools.database, lease.host_id)
    return next_compaction_seconds(lease.host_id, tools.clock())


def next_compaction_seconds(host_id: int, now_ns: int) -> float:
    """Time until the current slot has ended and settled; hosts are spread over the time of a slot."""
    into_slot_ns = now_ns % SLOT_NS
    spread_ns = SETTLE_NS + SECOND_NS + host_id * SPREAD_STEP_NS % (SLOT_NS - 2 * SETTLE_NS)
    wait_ns = spread_ns - into_slot_ns
    return (wait_ns if wait_ns > SETTLE_NS else wait_ns + SLOT_NS) / 1e9


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


async def evaluate(tools: Tools, lease: Lease) -> None:
    """Evaluate the alerts' rules until cancelled; one worker does so at a time."""
    await sync_rules(tools.database, tools.alerts.rules, tools.clock())
    fence = partial(hold_lease, lease=lease)
    alerting = Alerting(tools.database, tools.clock, tools.monotonic, tools.alerts.public_url, fence)
    noted_ns = 0

    async def tick() -> None:
        nonlocal noted_ns
        await alerting.tick()
        now_ns = tools.clock()
        if abs(now_ns - noted_ns) >= NOTE_ROUND_NS:  # heartbeats are sent as long as rounds are noted
            await note_round(tools.database, lease, now_ns)
            noted_ns = now_ns

    await repeat("evaluating alerts", EVALUATE_SECONDS, tick, (LeaseLostError,))


async def deliver(tools: Tools, _lease: Lease) -> None:
    """Send what the alerts have to tell until cancelled. Each message is claimed by itself: the API sends some too."""
    deliveries = Deliveries(tools.database, tools.egress, tools.clock, tools.monotonic)
    try:
        await repeat("delivering", DELIVER_SECONDS, deliveries.tick, wake=deliveries.freed)
    finally:
        await deliveries.close()


JOBS = (
    JobKind("retention", 300.0, forget),
    JobKind("compaction", 60.0, compact, per_host=True),
    JobKind("watch", TICK_SECONDS, watch, endless=True),
    JobKind("alerts", EVALUATE_SECONDS, evaluate, endless=True),
    JobKind("deliveries", DELIVER_SECONDS, deliver, endless=True),
)


async def run_worker(
    url: str,
    retention: Retention,
    name: str,
    stop: asyncio.Event,
    egress: Egress | None = None,
    alerts: AlertSettings | None = None,
) -> None:
    """Work on the database at ``url`` until ``stop`` is set. Raises StoreError where it cannot be opened."""
    database = await open_database(url)
    try:
        told = (retention, egress or Egress(), alerts or AlertSettings())
        tools = Tools(database, time.time_ns, time.monotonic, diagnose, *told)
        await Worker(tools, JOBS, name).run(stop)
    finally:
        await database.close()
