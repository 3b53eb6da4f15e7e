"""Columns survive the wire, and nothing that is no column does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pcodec import ChunkConfig, standalone

from gapscope_agent import wire
from gapscope_agent.derive.table import DerivedGroup

TIMES = 1_800_000_000_000_000_000 + np.arange(50, dtype=np.int64) * 100_000_000


def packed(values: Sequence[int] | npt.NDArray[np.int64]) -> bytes:
    return bytes(standalone.simple_compress(np.asarray(values, dtype=np.int64), ChunkConfig()))


def group(data: bytes, count: int, missing: list[wire.MissingRun] | None = None) -> wire.Group:
    times = packed(TIMES[:count]) if count <= TIMES.size else packed(np.arange(count))
    runs = {0: missing} if missing else {}
    return wire.Group(
        entities=["gpu:x"], metrics=["gpu_power_watts"], count=count, times=times, data=data, missing=runs
    )


def back(made: wire.Group) -> wire.DecodedGroup:
    [decoded] = wire.decode_group(made)
    return decoded


@given(
    st.lists(st.one_of(st.floats(0, 1000), st.just(float("nan"))), min_size=1, max_size=50),
    st.sampled_from(["gpu_power_watts", "gpu_sm_active_ratio", "gpu_memory_used_bytes"]),
)
@settings(max_examples=150, deadline=None)
def test_values_come_back_within_half_a_quantum_and_nan_as_missing(values: list[float], metric: str) -> None:
    from gapscope_agent.catalog import BY_NAME

    column = np.array(values)
    decoded = back(wire.encode_group("gpu:x", TIMES[: column.size], {metric: column}))
    out = decoded.values[metric]
    assert np.array_equal(decoded.times, TIMES[: column.size])
    assert np.array_equal(np.isnan(out), np.isnan(column))
    good = ~np.isnan(column)
    assert (np.abs(out - column)[good] <= BY_NAME[metric].quantum * 0.5000001).all()


def test_reasons_of_missing_values_come_back_as_runs() -> None:
    column = np.array([np.nan, np.nan, 3.0, np.nan, np.inf, 5.0])
    reasons = {"gpu_power_watts": {0: "first_reading", 1: "first_reading", 3: "no_number"}}
    decoded = back(wire.encode_group("gpu:x", TIMES[:6], {"gpu_power_watts": column}, reasons))
    assert decoded.missing["gpu_power_watts"] == [
        wire.MissingRun(0, 2, "first_reading"),
        wire.MissingRun(3, 1, "no_number"),
        wire.MissingRun(4, 1, "out_of_range"),
    ]
    assert decoded.values["gpu_power_watts"][[2, 5]] == pytest.approx([3.0, 5.0])


def test_only_wanted_columns_are_decoded() -> None:
    column = np.ones(50)
    both = wire.encode_group("gpu:x", TIMES, {"gpu_power_watts": column, "gpu_sm_active_ratio": column})
    [decoded] = wire.decode_group(both, {"gpu_sm_active_ratio"})
    assert set(decoded.values) == {"gpu_sm_active_ratio"}
    assert wire.decode_group(both, None, lambda entity: entity == "gpu:y") == []


def test_entities_with_the_same_moments_and_metrics_share_a_group() -> None:
    rng = np.random.default_rng(5)
    parts = [
        DerivedGroup(f"core:{n}", TIMES, {"cpu_core_busy_ratio": np.round(rng.uniform(0, 1, 50), 2)}, {})
        for n in range(3)
    ]
    parts[1].values["cpu_core_busy_ratio"][7] = np.nan
    parts.append(DerivedGroup("core:9", TIMES[:40], {"cpu_core_busy_ratio": np.zeros(40)}, {}))
    groups = wire.encode_groups(parts)
    assert [group.entities for group in groups] == [["core:0", "core:1", "core:2"], ["core:9"]]
    decoded = [view for made in groups for view in wire.decode_group(made)]
    for part, view in zip(parts, decoded, strict=True):
        assert view.entity == part.entity
        assert np.array_equal(view.times, part.times)
        assert np.allclose(view.values["cpu_core_busy_ratio"], part.values["cpu_core_busy_ratio"], equal_nan=True)
    assert decoded[1].missing == {"cpu_core_busy_ratio": [wire.MissingRun(7, 1, "no_value")]}


def test_groups_are_split_below_the_wires_limit() -> None:
    times = np.arange(wire.MAX_POINTS_PER_GROUP, dtype=np.int64)
    column = {"cpu_core_busy_ratio": np.zeros(times.size)}
    groups = wire.encode_groups(DerivedGroup(f"core:{n}", times, column, {}) for n in range(120))
    assert [len(group.entities) for group in groups] == [50, 50, 20]


@pytest.mark.parametrize(
    ("data", "count", "what"),
    [
        (packed(range(49)), 50, "fewer"),
        (packed(range(51)), 50, "more"),
        (packed(range(50)) + b"t" * 2000, 50, "too many"),
        (packed(range(50))[:-3], 50, "not a whole pcodec"),
        (b"", 50, "not a whole pcodec"),
        (b"\xff" * 300, 50, "not a"),
        (packed([1 << 60] * 50), 50, r"2\^53"),
        (packed([-(1 << 63)] * 50), 50, r"2\^53"),
        (bytes(standalone.simple_compress(np.zeros(50), ChunkConfig())), 50, "not a whole pcodec"),
        (packed(range(50)), 0, "count 0"),
        (packed(range(50)), wire.MAX_POINTS_PER_GROUP + 1, "count"),
    ],
)
def test_a_column_that_is_not_what_it_says_is_refused(data: bytes, count: int, what: str) -> None:
    with pytest.raises(wire.WireError, match=what):
        wire.decode_group(group(data, count))


def test_a_column_that_claims_a_hundred_million_values_costs_its_announced_size_only() -> None:
    bomb = packed(np.zeros(2_000_000, dtype=np.int64)) + b""
    assert len(bomb) < 300
    with pytest.raises(wire.WireError, match="more values than the 50"):
        wire.decode_group(group(bomb, 50))


@pytest.mark.parametrize("runs", [[(0, 51)], [(49, 2)], [(10, 5), (12, 1)], [(20, 1), (10, 1)], [(0, 0)]])
def test_missing_runs_outside_the_column_or_over_each_other_are_refused(runs: list[tuple[int, int]]) -> None:
    missing = [wire.MissingRun(start, count, "x") for start, count in runs]
    with pytest.raises(wire.WireError, match="missing run"):
        wire.decode_group(group(packed(range(50)), 50, missing))


@pytest.mark.parametrize("times", [[1, 1], [2, 1], [-5, 3], [-(1 << 63), (1 << 63) - 1]])
def test_times_that_do_not_ascend_are_refused(times: list[int]) -> None:
    made = group(packed([1, 2]), 2)
    made.times = packed(times)
    with pytest.raises(wire.WireError, match="ascend"):
        wire.decode_group(made)


def test_missing_runs_of_a_row_that_is_not_there_are_refused() -> None:
    made = group(packed(range(50)), 50)
    made.missing = {1: [wire.MissingRun(0, 1, "x")]}
    with pytest.raises(wire.WireError, match="row 1 of 1"):
        wire.decode_group(made)


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=5))
@settings(max_examples=300, deadline=None)
def test_flipped_bytes_give_an_error_or_numbers_in_range(flips: list[tuple[int, int]]) -> None:
    data = bytearray(packed(np.random.default_rng(7).integers(0, 7000, 50)))
    for position, byte in flips:
        data[position % len(data)] = byte
    try:
        decoded = back(group(bytes(data), 50))
    except wire.WireError:
        return
    values = decoded.values["gpu_power_watts"]
    assert values.size == 50
    assert np.isfinite(values).all()
