"""What is old goes, kind by kind; what is pinned stays; long spans are answered from what is left."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from sqlalchemy import func, select

from gapscope_agent.wire import Batch, WireFrame, encode_group
from gapscope_backend.errors import ConfigurationError
from gapscope_backend.services.series import SeriesQuery, SeriesSet, query_series
from gapscope_backend.store.database import Database
from gapscope_backend.store.merging import merge_tiers
from gapscope_backend.store.models import Chunk, DeviceMinute, Host, IngestRun, Pin, Stack, StackChunk
from gapscope_backend.store.reader import Selection, read_tier
from gapscope_backend.store.retention import DAY_NS, HOUR_NS, Retention, delete_old
from gapscope_backend.store.tiers import RAW, SECOND_NS, SLOT_NS, TIERS
from tests.backend.batches import GPU, BatchMaker, gpu_entity
from tests.store.storing import compact_all, count, host_id_of, samples_of, store

START = 1_796_000_400 * SECOND_NS // (24 * HOUR_NS) * (24 * HOUR_NS)
ACTIVE = "gpu_graphics_active_ratio"
HOURS = 3
STEP = 150
AFTER = START + HOURS * HOUR_NS + 600 * SECOND_NS


def values_at(second: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.round(np.random.default_rng(second).uniform(0, 1, STEP), 4)


def batches(maker: BatchMaker, hours: float = HOURS) -> Iterator[Batch]:
    """A sample a second, a batch every STEP seconds with a stack."""
    for at in range(0, int(hours * 3600), STEP):
        begin = START + at * SECOND_NS
        times = begin + np.arange(STEP, dtype=np.int64) * SECOND_NS
        stack = (begin, 7, 7, True, [WireFrame("step", "/srv/a.py", at // 3600, None)])
        yield maker.make(
            begin, begin + STEP * SECOND_NS, [encode_group(GPU, times, {ACTIVE: values_at(at)})],
            entities=[gpu_entity()], stacks=[stack],
        )  # fmt: skip


@pytest.fixture
async def filled(database: Database, maker: BatchMaker) -> Database:
    await store(database, *batches(maker), now_ns=AFTER)
    await compact_all(database, AFTER + 60 * SECOND_NS)
    return database


async def chunks(database: Database) -> dict[int, int]:
    async with database.read() as session:
        rows = await session.execute(select(Chunk.tier, func.count()).group_by(Chunk.tier))
        return {row[0]: row[1] for row in rows}


async def series(database: Database, start_ns: int, end_ns: int, buckets: int) -> SeriesSet:
    async with database.read() as session:
        host = (await session.scalars(select(Host))).one()
    query = SeriesQuery(start_ns, end_ns, buckets, Selection((GPU,), frozenset({ACTIVE})), 0.1)
    return await query_series(database, host, query, AFTER, False)


async def buckets_of(database: Database) -> list[list[tuple[int, list[int]]]]:
    host_id = await host_id_of(database)
    found = []
    for tier in TIERS:
        [part] = await read_tier(database, host_id, 0, 1 << 61, Selection(), tier)
        found.append([(t, part.stats[:, 0, at].tolist()) for at, t in enumerate(part.times.tolist())])
    return found


@pytest.mark.both_engines
async def test_finished_hours_become_one_chunk_and_say_the_same(filled: Database, maker: BatchMaker) -> None:
    host_id = await host_id_of(filled)
    assert await chunks(filled) == {RAW: 36, 10: 36, 300: 36}
    before = await buckets_of(filled)
    assert await merge_tiers(filled, host_id) == 24
    assert await chunks(filled) == {RAW: 36, 10: 2 + 12, 300: 36}
    assert await buckets_of(filled) == before
    assert await merge_tiers(filled, host_id) == 0
    late = START + 700 * SECOND_NS
    group = encode_group("gpu:GPU-1", np.array([late + 1]), {ACTIVE: np.array([0.5])})
    await store(filled, maker.make(late, late + SECOND_NS, [group]), now_ns=AFTER)
    mixed = await buckets_of(filled)
    await compact_all(filled, AFTER + 60 * SECOND_NS)
    assert await chunks(filled) == {RAW: 36, 10: 3 + 12, 300: 36}
    assert await buckets_of(filled) == mixed
    assert await merge_tiers(filled, host_id) == 1
    assert await chunks(filled) == {RAW: 36, 10: 2 + 12, 300: 36}
    assert await buckets_of(filled) == mixed


@pytest.mark.both_engines
async def test_each_kind_goes_at_its_own_time(filled: Database) -> None:
    keep = Retention(raw_hours=48, ten_seconds_days=30, five_minutes_days=365, minutes_days=90)
    assert await delete_old(filled, keep, AFTER + 47 * HOUR_NS) == 0
    await delete_old(filled, keep, AFTER + 49 * HOUR_NS)
    assert await chunks(filled) == {10: 36, 300: 36}
    assert (await count(filled, StackChunk), await count(filled, Stack)) == (0, 0)
    assert await count(filled, DeviceMinute) == 180
    await delete_old(filled, keep, AFTER + 31 * DAY_NS)
    assert await chunks(filled) == {300: 36}
    await delete_old(filled, keep, AFTER + 91 * DAY_NS)
    assert (await count(filled, DeviceMinute), await count(filled, IngestRun)) == (0, 0)
    await delete_old(filled, keep, AFTER + 366 * DAY_NS)
    assert await chunks(filled) == {}


@pytest.mark.both_engines
async def test_a_pin_keeps_samples_and_stacks(filled: Database) -> None:
    host_id = await host_id_of(filled)
    span = START + HOUR_NS, START + HOUR_NS + 400 * SECOND_NS
    whole = await samples_of(filled, host_id, *span)
    async with filled.write() as session:
        session.add(Pin(host_id=host_id, id="p", start_ns=span[0], end_ns=span[1], until_ns=AFTER + 90 * DAY_NS))
    await delete_old(filled, Retention(), AFTER + 49 * HOUR_NS)
    assert await chunks(filled) == {RAW: 2, 10: 36, 300: 36}
    assert await samples_of(filled, host_id, *span) == whole
    assert (await count(filled, StackChunk), await count(filled, Stack)) == (2, 1)
    answer = await series(filled, *span, 400)
    assert answer.bucket_ns is None
    await delete_old(filled, Retention(), AFTER + 91 * DAY_NS)
    assert (await count(filled, StackChunk), await count(filled, Stack)) == (0, 0)
    assert RAW not in await chunks(filled)


async def test_a_long_span_comes_from_a_tier_and_is_exact(filled: Database) -> None:
    answer = await series(filled, START, START + HOURS * HOUR_NS, 100)
    assert answer.bucket_ns == 110 * SECOND_NS
    [found] = answer.series
    whole = np.concatenate([values_at(at) for at in range(0, HOURS * 3600, STEP)])
    seconds = np.arange(whole.size) + START // SECOND_NS
    numbers = seconds // 110
    starts = np.unique(numbers)
    assert found.time_ms.tolist() == (starts * 110_000).tolist()
    parts = [whole[numbers == number] for number in starts]
    assert found.mean == pytest.approx([part.mean() for part in parts], abs=1e-5)
    assert found.minimum == pytest.approx([part.min() for part in parts])
    assert found.maximum == pytest.approx([part.max() for part in parts])
    assert found.idle_share == pytest.approx([(part < 0.1).mean() for part in parts])
    assert found.missing == []


async def test_what_is_kept_no_more_as_samples_is_shown_in_buckets(filled: Database) -> None:
    fine = await series(filled, START, START + 300 * SECOND_NS, 1000)
    assert fine.bucket_ns is None
    await delete_old(filled, Retention(), AFTER + 49 * HOUR_NS)
    coarse = await series(filled, START, START + 300 * SECOND_NS, 1000)
    assert coarse.bucket_ns == 10 * SECOND_NS
    assert coarse.series[0].mean == pytest.approx(fine.series[0].mean.reshape(30, 10).mean(axis=1), abs=1e-4)
    await delete_old(filled, Retention(), AFTER + 31 * DAY_NS)
    coarser = await series(filled, START, START + 600 * SECOND_NS, 1000)
    assert coarser.bucket_ns == 300 * SECOND_NS
    assert len(coarser.series[0].mean) == 2


async def test_holes_and_their_reasons_show_in_a_tier(database: Database, maker: BatchMaker) -> None:
    times = START + np.arange(600, dtype=np.int64) * SECOND_NS
    values = np.full(600, 0.5)
    values[100:160] = np.nan
    kept = np.r_[0:300, 400:600]
    reasons = {ACTIVE: dict.fromkeys(range(100, 160), "driver gone")}
    made = maker.make(START, START + 600 * SECOND_NS, [encode_group(GPU, times[kept], {ACTIVE: values[kept]}, reasons)])
    await store(database, made, now_ns=AFTER)
    await compact_all(database, AFTER + 60 * SECOND_NS)
    answer = await series(database, START, START + 600 * SECOND_NS, 10)
    [found] = answer.series
    spans = [((a.start_ns - START) / 1e9, (a.end_ns - START) / 1e9, a.reason) for a in found.missing]
    assert [(round(low), round(high), why) for low, high, why in spans] == [
        (100, 160, "driver gone"),
        (300, 400, "not_received"),
    ]
    assert np.isnan(found.mean).tolist() == [False] * 5 + [True] + [False] * 4


async def test_retention_that_cannot_be_used_is_named() -> None:
    for wrong in (Retention(raw_hours=0), Retention(minutes_days=-1), Retention(five_minutes_days=float("nan"))):
        with pytest.raises(ConfigurationError, match="retention"):
            wrong.check()
    assert Retention(raw_hours=24 * 100, minutes_days=1).minutes_ns == 100 * DAY_NS
    assert SLOT_NS % TIERS[0].width_ns == 0


async def test_a_tier_tells_no_idle_share_below_another_threshold_than_its_own(filled: Database) -> None:
    async with filled.read() as session:
        host = (await session.scalars(select(Host))).one()
    query = SeriesQuery(START, START + HOUR_NS, 100, Selection((GPU,), frozenset({ACTIVE})), 0.2)
    answer = await query_series(filled, host, query, AFTER, False)
    assert answer.bucket_ns == 40 * SECOND_NS
    assert answer.series[0].idle_share is None
