"""What goes into a chunk comes out of it."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gapscope_agent.wire import Entity, MissingRun, StackSample, WireFrame
from gapscope_backend.errors import StoreError
from gapscope_backend.store.chunks.block import Block, join, split
from gapscope_backend.store.chunks.packing import Reader, Writer
from gapscope_backend.store.chunks.raw import PAIRED, decode_raw, encode_raw, take_apart
from gapscope_backend.store.chunks.rollup import Rolled, coarser, combine, roll
from gapscope_backend.store.chunks.runs import runs_of
from gapscope_backend.store.chunks.sets import group_of, metric_set
from gapscope_backend.store.chunks.stacks import by_id, decode_stacks, encode_stacks, frames_of, join_stacks, table_of
from gapscope_backend.store.chunks.tier import decode_tier, encode_tier

Ints = npt.NDArray[np.int64]
SECOND = 1_000_000_000
METRICS = ("gpu_graphics_active_ratio", "gpu_power_watts", "gpu_sm_active_ratio", "gpu_memory_used_bytes")
NAMES = metric_set(METRICS).names

matrices = st.integers(1, 4).flatmap(
    lambda rows: st.integers(1, 40).flatmap(
        lambda count: st.lists(
            st.lists(st.one_of(st.integers(-(1 << 53), 1 << 53), st.integers(0, 3)), min_size=count, max_size=count),
            min_size=rows,
            max_size=rows,
        )
    )
)


@st.composite
def blocks(draw: st.DrawFn, entity: str = "gpu:a") -> Block:
    """A block with some samples missing, values of any size, over some seconds."""
    metrics = draw(st.lists(st.sampled_from(METRICS), min_size=1, max_size=4, unique=True))
    ticks = sorted(draw(st.sets(st.integers(0, 400), min_size=1, max_size=30)))
    values = draw(
        st.lists(
            st.lists(st.integers(0, 10_000), min_size=len(ticks), max_size=len(ticks)),
            min_size=len(metrics),
            max_size=len(metrics),
        )
    )
    missing = {}
    for row in range(len(metrics)):
        reasons = draw(st.lists(st.sampled_from([None, None, "a", "b"]), min_size=len(ticks), max_size=len(ticks)))
        if found := runs_of(reasons):
            missing[row] = found
    rows = tuple((entity, metric) for metric in metrics)
    return Block(rows, np.array(ticks, dtype=np.int64) * SECOND // 10, np.array(values, dtype=np.int64), missing)


Sample = dict[tuple[str, str, int], int | str]


def samples(parts: list[Block]) -> Sample:
    """Each (entity, metric, time) with its value, or the reason why there is none."""
    found: Sample = {}
    for part in parts:
        for row, (entity, metric) in enumerate(part.rows):
            for at, t in enumerate(part.times.tolist()):
                key = (entity, metric, t)
                found[key] = int(part.quanta[row, at])
                for run in part.missing.get(row, ()):
                    if run.start <= at < run.start + run.count:
                        found[key] = run.reason
    return found


@given(matrices)
@settings(max_examples=150, deadline=None)
def test_a_matrix_comes_back_exactly(values: list[list[int]]) -> None:
    matrix = np.array(values, dtype=np.int64)
    writer = Writer()
    packed = [writer.pack(matrix), writer.pack(matrix[:, ::-1])]
    reader = Reader(writer.bytes(), 0)
    assert np.array_equal(reader.unpack(packed[0], matrix.shape[1]), matrix)
    assert np.array_equal(reader.unpack(packed[1], matrix.shape[1]), matrix[:, ::-1])


def test_a_matrix_of_another_size_than_announced_is_refused() -> None:
    writer = Writer()
    packed = writer.pack(np.arange(200, dtype=np.int64).reshape(2, 100))
    with pytest.raises(StoreError, match="damaged"):
        Reader(writer.bytes(), 0).unpack(packed, 99)
    few = Writer().pack(np.arange(8, dtype=np.int64).reshape(2, 4))
    with pytest.raises(StoreError, match="damaged"):
        Reader(b"", 0).unpack(few, 5)


@given(st.lists(blocks(), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_a_raw_chunk_comes_back_exactly_and_joining_keeps_the_last_of_each_moment(parts: list[Block]) -> None:
    expected: Sample = {}
    for part in parts:
        expected.update(samples([part]))
    joined = join(parts)
    assert len({row for part in joined for row in part.rows}) == sum(len(part.rows) for part in joined)
    assert all((np.diff(part.times) > 0).all() for part in joined)
    assert samples(joined) == expected
    told = [Entity("gpu:a", "gpu", {"owners": "1,2"})]
    back, facts = decode_raw(encode_raw(joined, told, NAMES), NAMES)
    assert samples(back) == expected
    assert facts == told


@given(st.lists(blocks(), min_size=1, max_size=3))
@settings(max_examples=40, deadline=None)
def test_a_chunk_of_the_codec_before_is_read(parts: list[Block]) -> None:
    joined = join(parts)
    raw = paired(encode_raw(joined, [], NAMES))
    assert samples(decode_raw(raw, NAMES, PAIRED)[0]) == samples(joined)
    fine = combine([roll(block, SECOND) for block in joined])
    tier = paired(encode_tier(fine, NAMES))
    check_buckets(decode_tier(tier, NAMES, codec=PAIRED), expected_buckets(joined, SECOND))
    with pytest.raises(StoreError, match="upgrade"):
        decode_raw(raw, NAMES, "pco9")


def paired(data: bytes) -> bytes:
    """A chunk's bytes with entity and metric of each row side by side, as ``pco1`` had them."""
    packed, _ = take_apart(data)
    head: list[Any] = msgspec.msgpack.decode(packed)
    for part in head[1]:
        numbers = part[1]
        half = len(numbers) // 2
        part[1] = [n for pair in zip(numbers[:half], numbers[half:], strict=True) for n in pair]
    deflated = zlib.compress(msgspec.msgpack.encode(head))
    rest = data[4 + int.from_bytes(data[:4], "little") :]
    return len(deflated).to_bytes(4, "little") + deflated + rest


@given(blocks(), st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_splitting_by_time_loses_nothing(block: Block, seconds: int) -> None:
    width = seconds * SECOND
    parts = dict(split(block, width))
    for start, part in parts.items():
        assert start % width == 0
        assert part.times[0] >= start
        assert part.times[-1] < start + width
    assert samples(list(parts.values())) == samples([block])


def expected_buckets(parts: list[Block], width: int) -> dict[tuple[str, str, int], list[int]]:
    found: dict[tuple[str, str, int], list[int]] = {}
    for (entity, metric, t), value in samples(parts).items():
        bucket = found.setdefault((entity, metric, t // width * width), [])
        if isinstance(value, int):
            bucket.append(value)
    return found


def check_buckets(rolled: list[Rolled], expected: dict[tuple[str, str, int], list[int]]) -> None:
    seen = {}
    for part in rolled:
        for row, (entity, metric) in enumerate(part.rows):
            for at, t in enumerate(part.times.tolist()):
                seen[entity, metric, t] = part.stats[:, row, at].tolist()
                is_missing = any(run.start <= at < run.start + run.count for run in part.missing.get(row, ()))
                assert is_missing == (part.counts[row, at] == 0)
    for key, values in expected.items():
        count, low, high, total, idle = seen.pop(key)
        assert (count, low, high, total) == (len(values), min(values, default=0), max(values, default=0), sum(values))
        assert idle == (sum(value < 1000 for value in values) if key[1].endswith("_ratio") else 0)
    assert all(stats[0] == 0 for stats in seen.values())


@given(st.lists(blocks(), min_size=1, max_size=3))
@settings(max_examples=80, deadline=None)
def test_buckets_agree_with_the_samples_and_add_up(parts: list[Block]) -> None:
    joined = join(parts)
    fine = combine([roll(block, SECOND) for block in joined])
    check_buckets(fine, expected_buckets(joined, SECOND))
    check_buckets([coarser(part, 5 * SECOND) for part in fine], expected_buckets(joined, 5 * SECOND))
    check_buckets(decode_tier(encode_tier(fine, NAMES), NAMES), expected_buckets(joined, SECOND))
    for metric in METRICS:
        one = decode_tier(encode_tier(fine, NAMES), NAMES, of_metric(metric))
        taken = {key: values for key, values in expected_buckets(joined, SECOND).items() if key[1] == metric}
        check_buckets(one, taken)
        assert {row[1] for part in one for row in part.rows} <= {metric}
    half = [Block(b.rows, b.times[::2], b.quanta[:, ::2], {}) for b in joined]
    rest = [Block(b.rows, b.times[1::2], b.quanta[:, 1::2], {}) for b in joined if b.times.size > 1]
    whole = [Block(b.rows, b.times, b.quanta, {}) for b in joined]
    added = combine([*(roll(block, SECOND) for block in half), *(roll(block, SECOND) for block in rest)])
    check_buckets(added, expected_buckets(whole, SECOND))


def of_metric(metric: str) -> Callable[[tuple[str, str]], bool]:
    return lambda row: row[1] == metric


def test_why_a_bucket_is_empty_survives_the_tiers() -> None:
    rows = (("gpu:a", METRICS[0]),)
    times = np.arange(300, dtype=np.int64) * SECOND // 10
    block = Block(rows, times, np.zeros((1, 300), dtype=np.int64), {0: [MissingRun(95, 110, "driver gone")]})
    fine = roll(block, 10 * SECOND)
    assert fine.missing == {0: [MissingRun(1, 1, "driver gone")]}
    assert fine.counts.tolist() == [[95, 0, 95]]


@pytest.mark.parametrize("damage", [b"", b"\x05\x00\x00\x00abcde", b"\xff\xff\xff\xffx"])
def test_bytes_that_are_no_chunk_are_told(damage: bytes) -> None:
    for decode in (
        lambda: decode_raw(damage, NAMES),
        lambda: decode_tier(damage, NAMES),
        lambda: decode_stacks(damage, 1),
    ):
        with pytest.raises(StoreError, match="damaged"):
            decode()


def test_entities_go_to_the_groups_of_the_design() -> None:
    keys = ["gpu:GPU-1", "core:3", "process:7", "thread:7/8", "host", "disk:sda"]
    assert [group_of(key) for key in keys] == ["gpu:GPU-1", "cores", "processes", "processes", "host", "host"]


def test_a_metric_set_is_known_by_what_is_in_it() -> None:
    assert metric_set(METRICS).id == metric_set(reversed(METRICS)).id
    assert metric_set(METRICS).id != metric_set(METRICS[:3]).id
    assert metric_set(METRICS).is_current


def test_stack_samples_come_back() -> None:
    frames = [WireFrame("run", "/srv/a.py", n, None) for n in range(3)]
    listed = [
        StackSample(SECOND * n, 7, 7 + n % 2, "Main" if n % 2 == 0 else None, n % 3 == 0, None, n % 2)
        for n in range(20)
    ]
    table = table_of(frames, [[0, 1], [2]], listed)
    numbered, kept = by_id(join_stacks([table]))
    back = decode_stacks(encode_stacks(numbered), 7)
    assert np.array_equal(back.rows[:, :5], table.rows[:, :5])
    assert [frames_of(kept[back.stacks[at]]) for at in back.rows[:, 5].tolist()] == [
        table.stacks[at] for at in table.rows[:, 5].tolist()
    ]
    assert back.names == {(7, 7): "Main"}
