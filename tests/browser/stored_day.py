"""A day of one GPU as a store keeps it: busy throughout, but for one gap of 100 ms. Its power is there for some hours,
and missing in half an hour of them.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gapscope_agent.wire import Batch, MissingRun, encode
from gapscope_backend.services import admin
from gapscope_backend.services.ingest import check
from gapscope_backend.store.database import open_database
from gapscope_backend.store.hot import store_batches
from tests.backend.batches import GPU, SECOND, TICK, BatchMaker, gpu_entity, group
from tests.store.storing import compact_all

HOST = "day"
DAY_NS = 24 * 3600 * SECOND
BATCH_NS = 300 * SECOND
TOGETHER = 24
"""Batches a transaction."""
UNMEASURED = "not_supported"


@dataclass(frozen=True)
class StoredDay:
    """When it begins and ends, where its gap is, and where power was measured and where not; ns since the epoch."""

    start_ns: int
    gap_ns: int

    @property
    def end_ns(self) -> int:
        return self.start_ns + DAY_NS

    @property
    def gap_share(self) -> float:
        """Where the gap lies in the day, 0..1."""
        return (self.gap_ns - self.start_ns) / DAY_NS

    @property
    def powered(self) -> range:
        """Two and a half hours, by their start and end."""
        start = self.start_ns + 5 * 3600 * SECOND
        return range(start, start + 9000 * SECOND)

    @property
    def unmeasured(self) -> range:
        """Half an hour, by its start and end."""
        start = self.start_ns + 6 * 3600 * SECOND
        return range(start, start + 1800 * SECOND)


def store_day(data: Path) -> StoredDay:
    """Write the day that ended a moment ago into the database of a data folder, raw and in tiers."""
    end_ns = (time.time_ns() // BATCH_NS - 1) * BATCH_NS
    start_ns = end_ns - DAY_NS
    day = StoredDay(start_ns, start_ns + 17 * 3600 * SECOND + 123 * SECOND + 4 * TICK)
    asyncio.run(_store(admin.database_url(data), day))
    return day


async def _store(url: str, day: StoredDay) -> None:
    database = await open_database(url)
    maker = BatchMaker(HOST)
    try:
        for first in range(day.start_ns, day.end_ns, TOGETHER * BATCH_NS):
            batches = [encode(_batch(maker, day, first + n * BATCH_NS)) for n in range(TOGETHER)]
            await store_batches(database, [check(batch, "identity", "*", day.end_ns) for batch in batches])
        await compact_all(database, day.end_ns + DAY_NS)
    finally:
        await database.close()


def _batch(maker: BatchMaker, day: StoredDay, at: int) -> Batch:
    count = BATCH_NS // TICK
    random = np.random.default_rng(at // BATCH_NS)
    active = np.round(random.uniform(0.8, 0.95, count), 2)
    where = (day.gap_ns - at) // TICK
    if 0 <= where < count:
        active[where] = 0.0
    groups = [group(GPU, at, TICK, gpu_graphics_active_ratio=active)]
    if at in day.powered:
        power = group(GPU, at, TICK, gpu_power_watts=np.round(random.uniform(500, 600, count)))
        if at in day.unmeasured:
            power.missing[0] = [MissingRun(0, count, UNMEASURED)]
        groups.append(power)
    return maker.make(at, at + BATCH_NS, groups, entities=[gpu_entity()])
