"""Batches become chunks; nothing that was acknowledged is lost, doubled or changed on the way."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator

import numpy as np
import pytest
from sqlalchemy import select

from gapscope_agent.derive.table import DerivedGroup
from gapscope_agent.wire import Batch, WireFrame, encode_groups
from gapscope_backend.store import compaction
from gapscope_backend.store.chunk_rows import load_chunks
from gapscope_backend.store.compaction import Due, compact, due_slots
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Chunk, DeviceMinute, IngestHot, IngestRun, Stack, StackChunk
from gapscope_backend.store.reader import Selection, read_tier
from gapscope_backend.store.tiers import SECOND_NS, SLOT_NS, TIERS
from tests.backend.batches import GPU, BatchMaker, gpu_entity, standard_entities
from tests.store.storing import compact_all, count, host_id_of, samples_of, stacks_of, store

pytestmark = pytest.mark.both_engines

START = 1_796_000_000 * SECOND_NS
"""100 s before the end of a slot."""
RECEIVED = START + 300 * SECOND_NS
LATER = START + 10_000 * SECOND_NS


def batches(maker: BatchMaker, seconds: int, start_ns: int = START, seed: int = 1) -> Iterator[Batch]:
    """Batches of 5 s of a GPU, two cores and a process, some values missing, with stacks."""
    rng = np.random.default_rng(seed)
    for at in range(0, seconds, 5):
        begin = start_ns + at * SECOND_NS
        times = begin + np.arange(50, dtype=np.int64) * SECOND_NS // 10
        active = np.round(rng.uniform(0, 1, 50), 4)
        active[rng.random(50) < 0.05] = np.nan
        gpu = {"gpu_graphics_active_ratio": active, "gpu_power_watts": np.round(rng.uniform(80, 700, 50), 1)}
        reasons = {"gpu_graphics_active_ratio": {n: "driver gone" for n in range(50) if math.isnan(active[n])}}
        parts = [
            DerivedGroup(GPU, times, gpu, reasons),
            *(
                DerivedGroup(f"core:{n}", times, {"cpu_core_busy_ratio": np.round(rng.random(50), 2)}, {})
                for n in (0, 1)
            ),
            DerivedGroup("process:100", times[::10], {"process_cpu_cores": np.round(rng.random(5), 2)}, {}),
        ]
        stacks = [
            (begin + n * SECOND_NS, 100, 100, True, [WireFrame("decode", "/srv/app.py", 10 + n % 2)]) for n in range(5)
        ]
        entities = [gpu_entity("100" if at < seconds / 2 else "100,200"), *standard_entities()[2:]]
        yield maker.make(begin, begin + 5 * SECOND_NS, encode_groups(parts), entities=entities, stacks=stacks)


async def test_everything_is_the_same_after_compaction(database: Database, maker: BatchMaker) -> None:
    made = list(batches(maker, 240))
    await store(database, *made, now_ns=RECEIVED)
    host_id = await host_id_of(database)
    before, stacks_before = await samples_of(database, host_id), await stacks_of(database, host_id)
    assert len(before) == 48 * (2 * 50 + 2 * 50 + 5)
    assert await compact_all(database, LATER) == 48
    assert await count(database, IngestHot) == 0
    assert await count(database, Chunk) == 2 * 3 * 3
    assert await samples_of(database, host_id) == before
    assert await stacks_of(database, host_id) == stacks_before
    assert await count(database, Stack) == 2
    assert await count(database, StackChunk) == 2
    inside = START + 90 * SECOND_NS, START + 130 * SECOND_NS
    part = await samples_of(database, host_id, *inside)
    wanted = {key: value for key, value in before.items() if inside[0] <= key[2] < inside[1]}
    assert {key: part[key] for key in wanted} == wanted


async def test_half_in_chunks_and_half_hot_reads_like_one(database: Database, maker: BatchMaker) -> None:
    made = list(batches(maker, 240))
    await store(database, *made[:12], *made[14:20], now_ns=RECEIVED)
    await compact_all(database, LATER)
    await store(database, *made[12:14], *made[20:], now_ns=LATER)
    host_id = await host_id_of(database)
    mixed, stacks_mixed = await samples_of(database, host_id), await stacks_of(database, host_id)
    assert len(mixed) == 48 * 205
    tier_mixed = await tier_samples(database, host_id)
    await compact_all(database, 2 * LATER)
    assert await samples_of(database, host_id) == mixed
    assert await stacks_of(database, host_id) == stacks_mixed
    assert await tier_samples(database, host_id) == tier_mixed


async def tier_samples(database: Database, host_id: int) -> list[dict[tuple[str, str, int], list[int]]]:
    """The buckets of each tier by series and time."""
    found = []
    for tier in TIERS:
        buckets: dict[tuple[str, str, int], list[int]] = {}
        for part in await read_tier(database, host_id, 0, 1 << 61, Selection(), tier):
            for row, (entity, metric) in enumerate(part.rows):
                for at, t in enumerate(part.times.tolist()):
                    assert (entity, metric, t) not in buckets
                    buckets[entity, metric, t] = part.stats[:, row, at].tolist()
        found.append(buckets)
    return found


async def test_tiers_count_each_sample_once(database: Database, maker: BatchMaker) -> None:
    made = list(batches(maker, 240))
    await store(database, *made, now_ns=RECEIVED)
    await compact_all(database, LATER)
    host_id = await host_id_of(database)
    values = await samples_of(database, host_id)
    good = [
        value
        for (_, metric, _), value in values.items()
        if metric == "gpu_graphics_active_ratio" and value[0].isdigit()
    ]
    for buckets in await tier_samples(database, host_id):
        mine = [stats for (_, metric, _), stats in buckets.items() if metric == "gpu_graphics_active_ratio"]
        assert sum(stats[0] for stats in mine) == len(good)
        assert sum(stats[3] for stats in mine) == sum(round(float(value) * 10_000) for value in good)
        assert sum(stats[4] for stats in mine) == sum(float(value) < 0.1 for value in good)
        assert min(stats[1] for stats in mine) == min(round(float(value) * 10_000) for value in good)


async def test_a_retry_after_compaction_is_a_duplicate(database: Database, maker: BatchMaker) -> None:
    made = list(batches(maker, 60))
    await store(database, *made, now_ns=RECEIVED)
    await compact_all(database, LATER)
    assert await store(database, *made, now_ns=LATER) == [False] * 12
    assert await count(database, IngestHot) == 0
    async with database.read() as session:
        assert (await session.scalars(select(IngestRun.ranges))).one() == [[1, 12]]


async def test_only_what_has_settled_is_due(database: Database, maker: BatchMaker) -> None:
    first, *rest = batches(maker, 150)
    await store(database, first, now_ns=RECEIVED)
    await store(database, *rest, now_ns=RECEIVED + 20 * SECOND_NS)
    assert await due_slots(database, RECEIVED + 40 * SECOND_NS, 10) == []
    due = await due_slots(database, RECEIVED + 60 * SECOND_NS, 10)
    slot = START // SLOT_NS * SLOT_NS
    assert [one.slot_ns for one in due] == [slot, slot + SLOT_NS]


async def test_two_that_compact_the_same_slot_move_it_once(database: Database, maker: BatchMaker) -> None:
    await store(database, *batches(maker, 90), now_ns=RECEIVED)
    host_id = await host_id_of(database)
    before = await samples_of(database, host_id)
    [due] = await due_slots(database, LATER, 10)
    assert sorted(await asyncio.gather(*(compact(database, due) for _ in range(3)))) == [0, 0, 18]
    assert await samples_of(database, host_id) == before


async def test_what_arrives_while_a_slot_is_compacted_stays(
    database: Database, maker: BatchMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list(batches(maker, 90))
    await store(database, *made[:-1], now_ns=RECEIVED)
    host_id = await host_id_of(database)
    load = load_chunks

    async def slow(*given: object) -> object:
        await store(database, made[-1], now_ns=LATER)
        return await load(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(compaction, "load_chunks", slow)
    assert await compact(database, Due(host_id, START // SLOT_NS * SLOT_NS)) == 17
    assert await count(database, IngestHot) == 1
    assert len(await samples_of(database, host_id)) == 18 * 205


async def test_a_chunk_that_changed_meanwhile_is_not_overwritten(
    database: Database, maker: BatchMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list(batches(maker, 90))
    await store(database, *made[:6], now_ns=RECEIVED)
    await compact_all(database, LATER)
    await store(database, *made[6:], now_ns=LATER)
    host_id = await host_id_of(database)
    load = load_chunks

    async def overtaken(*given: object) -> object:
        found = await load(*given)  # type: ignore[arg-type]
        async with database.write() as session:
            for chunk in await session.scalars(select(Chunk)):
                chunk.revision += 1
        return found

    due = Due(host_id, START // SLOT_NS * SLOT_NS)
    with monkeypatch.context() as patched:
        patched.setattr(compaction, "load_chunks", overtaken)
        assert await compact(database, due) == 0
    assert await count(database, IngestHot) == 12
    assert await compact(database, due) == 12
    assert len(await samples_of(database, host_id)) == 18 * 205


async def test_minutes_are_plain_columns_and_add_up(database: Database, maker: BatchMaker) -> None:
    made = list(batches(maker, 240))
    await store(database, *made[:7], *made[9:], now_ns=RECEIVED)
    await compact_all(database, LATER)
    await store(database, *made[7:9], now_ns=LATER)
    await compact_all(database, 2 * LATER)
    values = await samples_of(database, await host_id_of(database))
    async with database.read() as session:
        rows = (await session.scalars(select(DeviceMinute).order_by(DeviceMinute.minute_ns))).all()
    assert len(rows) == 5
    for row in rows:
        mine = {
            metric: [
                float(value)
                for (_, name, t), value in values.items()
                if name == metric and row.minute_ns <= t < row.minute_ns + 60 * SECOND_NS and value[0].isdigit()
            ]
            for metric in ("gpu_graphics_active_ratio", "gpu_power_watts")
        }
        active = mine["gpu_graphics_active_ratio"]
        assert row.samples == len(active)
        assert row.active_mean_ratio == pytest.approx(np.mean(active))
        assert row.active_min_ratio == pytest.approx(min(active))
        assert row.idle_ratio == pytest.approx(np.mean(np.array(active) < 0.1))
        assert row.power_max_watts == pytest.approx(max(mine["gpu_power_watts"]))
        assert row.power_mean_watts == pytest.approx(np.mean(mine["gpu_power_watts"]), rel=2e-3)
        assert row.sm_active_mean_ratio is None
