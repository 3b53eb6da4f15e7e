"""How long a flame graph of ten minutes takes: 300 gaps, 20 Hz, 8 processes of 4 threads, from stored chunks."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import numpy as np

from gapscope_agent.wire import StackSample, WireFrame, encode_group
from gapscope_backend.analysis.flame import Choice, build_flame
from gapscope_backend.services.flame import _SELECTION, flame_of
from gapscope_backend.services.hosts import find_host
from gapscope_backend.services.windows import load_window
from gapscope_backend.store.database import Database
from tests.backend.batches import GPU, NOW, SECOND, TICK, BatchMaker, gpu_entity
from tests.store.storing import compact_all, store

SECONDS, HERTZ, PROCESSES, THREADS, STACKS, DEPTH = 600, 20, 8, 4, 200, 25
GOAL_SECONDS = 0.1


def frames() -> tuple[list[WireFrame], list[list[int]]]:
    known = [WireFrame(f"function_{n}", f"/srv/module_{n % 20}.py", n, None) for n in range(400)]
    rng = np.random.default_rng(3)
    return known, [rng.integers(0, 400, DEPTH).tolist() for _ in range(STACKS)]


async def fill(database: Database) -> None:
    rng = np.random.default_rng(1)
    known, stacks = frames()
    maker = BatchMaker()
    begin_ns = NOW - SECONDS * SECOND
    for second in range(0, SECONDS, 10):
        begin = begin_ns + second * SECOND
        times = begin + np.arange(100, dtype=np.int64) * TICK
        active = np.where(np.arange(100) // 10 % 2 == 0, 0.02, 0.9)
        made = maker.make(begin, begin + 10 * SECOND, [encode_group(GPU, times, {"gpu_graphics_active_ratio": active})])
        made.entities, made.frames, made.stacks = [gpu_entity()], known, stacks
        made.samples = [
            StackSample(begin + n * SECOND // HERTZ, 100 + p, 100 + p + 1000 * t, None, True, None, int(stack))
            for n in range(10 * HERTZ)
            for p, t, stack in zip(
                np.repeat(np.arange(PROCESSES), THREADS).tolist(),
                np.tile(np.arange(THREADS), PROCESSES).tolist(),
                rng.integers(0, STACKS, PROCESSES * THREADS).tolist(),
                strict=True,
            )
        ]
        await store(database, made, now_ns=NOW)
    assert await compact_all(database, NOW + 100 * SECOND) == SECONDS // 10


async def test_flame_of_ten_minutes(database: Database, tmp_path: Path) -> None:
    await fill(database)
    host = await find_host(database, "node-1")
    choice = Choice(where="gaps", against="outside", min_share=0.0005)
    whole, folding = [], []
    for _ in range(7):
        began = time.perf_counter()
        flame = await flame_of(database, host, NOW - SECONDS * SECOND, NOW, choice)
        whole.append(time.perf_counter() - began)
        window = await load_window(database, host, NOW - SECONDS * SECOND, NOW, _SELECTION)
        began = time.perf_counter()
        build_flame(window, choice)
        folding.append(time.perf_counter() - began)
    assert flame.samples == SECONDS * HERTZ * PROCESSES * THREADS
    print(
        f"\nflame graph of {flame.samples} samples, {STACKS} stacks: read and folded in "
        f"{1e3 * statistics.median(whole):.0f} ms (aim {1e3 * GOAL_SECONDS:.0f}), "
        f"of which folding {1e3 * statistics.median(folding):.0f} ms"
    )
