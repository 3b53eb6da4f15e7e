"""Batches of several entities with missing values, and what a database holds of them as an export should tell it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import aclosing

import numpy as np

from gapscope_agent.derive.table import DerivedGroup
from gapscope_agent.wire import Batch, encode_groups
from gapscope_backend.store.database import Database
from gapscope_backend.store.latest import decimals_of
from gapscope_backend.store.reader import Selection, read_series
from gapscope_backend.store.tiers import SECOND_NS
from tests.backend.batches import GPU, BatchMaker, gpu_entity, standard_entities

START = 1_796_000_000 * SECOND_NS
"""100 s before the end of a slot."""
LATER = START + 100_000 * SECOND_NS
ODD = 'gpu:X,"y"'
"""A key with what CSV must quote."""

Sample = tuple[int, str, str]
"""Time, entity, metric."""
Told = tuple[float | None, str]
"""Value, and why there is none."""


def batches(maker: BatchMaker, seconds: int, start_ns: int = START) -> Iterator[Batch]:
    """Batches of 5 s of two GPUs and a core."""
    rng = np.random.default_rng(1)
    for at in range(0, seconds, 5):
        begin = start_ns + at * SECOND_NS
        times = begin + np.arange(50, dtype=np.int64) * SECOND_NS // 10
        active = np.round(rng.uniform(0, 1, 50), 4)
        active[rng.random(50) < 0.05] = np.nan
        gpu = {"gpu_graphics_active_ratio": active, "gpu_power_watts": np.round(rng.uniform(80, 700, 50), 1)}
        reasons = {"gpu_graphics_active_ratio": {n: "driver, gone" for n in range(50) if math.isnan(active[n])}}
        parts = [
            DerivedGroup(GPU, times, gpu, reasons),
            DerivedGroup("core:0", times, {"cpu_core_busy_ratio": np.round(rng.random(50), 2)}, {}),
            DerivedGroup(ODD, times[::10], {"gpu_memory_used_bytes": np.round(rng.random(5) * 1e9)}, {}),
        ]
        entities = [gpu_entity(), *standard_entities()[4:]]
        yield maker.make(begin, begin + 5 * SECOND_NS, encode_groups(parts), entities=entities)


async def told(
    database: Database, host_id: int, start_ns: int, end_ns: int, selection: Selection | None = None
) -> dict[Sample, Told]:
    """Each sample of a span as ``read_series`` gives it, to the metric's own precision."""
    found: dict[Sample, Told] = {}
    async with aclosing(read_series(database, host_id, start_ns, end_ns, selection or Selection())) as pages:
        async for page in pages:
            for group in page.groups:
                for metric, values in group.values.items():
                    why = {
                        at: run.reason
                        for run in group.missing[metric]
                        for at in range(run.start, run.start + run.count)
                    }
                    exact = np.round(values, decimals_of(metric)).tolist()
                    for at, t in enumerate(group.times.tolist()):
                        if start_ns <= t < end_ns:
                            value = None if math.isnan(exact[at]) else exact[at]
                            found[t, group.entity, metric] = (value, why.get(at, ""))
    return found
