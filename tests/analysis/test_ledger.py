"""The ledger adds up whatever the data looks like."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes import BY_ID, CAUSES
from gapscope_backend.analysis.diagnose import choose, diagnose
from gapscope_backend.analysis.ledger import build_ledger
from gapscope_backend.analysis.verdict import NONE, LedgerRow
from gapscope_backend.analysis.view import read_views
from gapscope_backend.analysis.window import Frame, Gpu, Process, Series, StackSamples, Window

START = 1_790_000_000_000_000_000
GPU_METRICS = (
    "gpu_graphics_active_ratio",
    "gpu_utilization_ratio",
    "gpu_sm_active_ratio",
    "gpu_sm_occupancy_ratio",
    "gpu_tensor_active_ratio",
    "gpu_fp32_active_ratio",
    "gpu_dram_active_ratio",
    "gpu_processes_count",
)
OTHER = (
    ("gpu:0", "pcie_rx_bytes_per_second", 6e10),
    ("gpu:0", "pcie_tx_bytes_per_second", 6e10),
    ("gpu:0", "gpu_sm_clock_hertz", 2e9),
    ("gpu:0", "gpu_clocks_event_reasons_code", 255.0),
    ("host", "cpu_busy_cores", 8.0),
    ("process:10", "process_cpu_cores", 8.0),
    ("process:11", "process_cpu_cores", 8.0),
    ("process:10", "process_gpu_sm_ratio", 1.0),
    ("process:12", "process_gpu_sm_ratio", 1.0),
    ("thread:10/10", "thread_cpu_cores", 1.0),
    ("cgroup:/a", "cgroup_cpu_throttled_ratio", 1.0),
)
FRAMES = (
    Frame("step", "app.py", 1, "y = x.item()"),
    Frame("step", "app.py", 2),
    Frame("Module._call_impl", "torch/nn/modules/module.py", 3),
    Frame("synchronize", "torch/cuda/__init__.py", 4),
    Frame("Condition.wait", "threading.py", 5),
    Frame("ImageFile.load", "PIL/ImageFile.py", 6),
    Frame("_save", "torch/serialization.py", 7),
)


def _column(draw: Any, count: int, top: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    value = st.one_of(st.just(math.nan), st.floats(0, top), st.sampled_from([0.0, top]))
    return np.array(draw(st.lists(value, min_size=count, max_size=count)), dtype=np.float64)


@st.composite
def windows(draw: Any) -> Window:
    length = draw(st.integers(1, 3_000_000_000))
    gpus = draw(st.integers(0, 2))
    series = {}
    wanted = [(f"gpu:{g}", m, 1.0) for g in range(gpus) for m in GPU_METRICS] + list(OTHER)
    for entity, metric, top in wanted:
        count = draw(st.integers(0, 12))
        if count:
            offsets = draw(st.lists(st.integers(-(10**8), length + 10**8), min_size=count, max_size=count, unique=True))
            series[entity, metric] = Series(START + np.array(sorted(offsets), np.int64), _column(draw, count, top))
    return Window(
        host="h",
        start_ns=START,
        end_ns=START + length,
        logical_cpus=8,
        gpus=tuple(
            Gpu(f"gpu:{g}", g, "GPU", draw(st.sampled_from([(), (10,), (10, 12)])), 700.0, 2e9, 5, 16,
                draw(st.integers(0, 150_000_000)))
            for g in range(gpus)
        ),
        processes=(Process(10, 1, "a"), Process(11, 10, "b"), Process(12, 10, "c")),
        series=series,
        stacks=draw(st.none() | _stacks(length)),
    )  # fmt: skip


@st.composite
def _stacks(draw: Any, length: int) -> StackSamples:
    count = draw(st.integers(0, 20))
    flags = st.lists(st.sampled_from([-1, 0, 1]), min_size=count, max_size=count)
    times = sorted(draw(st.lists(st.integers(-(10**8), length + 10**8), min_size=count, max_size=count)))
    stacks = ((), *((i,) for i in range(len(FRAMES))), (1, 2), (4, 5))
    return StackSamples(
        times=START + np.array(times, dtype=np.int64),
        pids=np.array(draw(st.lists(st.sampled_from([10, 11, 12]), min_size=count, max_size=count)), dtype=np.int64),
        tids=np.array(draw(st.lists(st.sampled_from([10, 20]), min_size=count, max_size=count)), dtype=np.int64),
        active=np.array(draw(flags), dtype=np.int8),
        owns_gil=np.array(draw(flags), dtype=np.int8),
        stack=np.array(draw(st.lists(st.integers(0, len(stacks) - 1), min_size=count, max_size=count)), dtype=np.int64),
        stacks=stacks,
        frames=FRAMES,
    )


@settings(max_examples=150, deadline=None)
@given(windows())
def test_rows_sum_to_the_window(window: Window) -> None:
    verdict = diagnose(window)
    assert verdict.verdict in BY_ID
    assert all(row.gpu_seconds > 0 and 0 <= row.confidence <= 1 for row in verdict.ledger)
    assert sum(row.gpu_seconds for row in verdict.ledger) == pytest.approx(window.seconds * len(window.gpus))
    for gpu in verdict.gpus:
        assert sum(row.share for row in gpu.ledger) == pytest.approx(1.0)
        assert all(0 <= spot.share <= 1 for row in gpu.ledger for spot in row.hotspots)


@settings(max_examples=60, deadline=None)
@given(windows())
def test_shares_of_idle_time_sum_to_one_in_every_cell(window: Window) -> None:
    for view in read_views(window):
        assert view.host.share.sum(axis=0) == pytest.approx(np.ones(window.cell_count))
        assert (view.idle + view.busy)[view.known] == pytest.approx(view.seconds[view.known])


def test_an_empty_window_has_no_ledger(builder: Any) -> None:
    window = builder.gpu(0.5).window()
    empty = Window("h", START, START, 8, window.gpus, (), {})
    verdict = diagnose(empty)
    assert (verdict.verdict, verdict.ledger, verdict.gpus) == ("not_measured", (), ())


@pytest.mark.parametrize("owners", [(), (10,), (10, 11)])
def test_every_cause_stands_an_empty_window(owners: tuple[int, ...]) -> None:
    series = {("process:10", "process_gpu_sm_ratio"): Series(np.array([START]), np.array([0.5]))}
    empty = Window("h", START, START, 8, (Gpu("gpu:a", 0, "GPU", owners),), (), series)
    (view,) = read_views(empty)
    assert [cause.findings(view) for cause in CAUSES]
    assert build_ledger(view) == ()


def test_advice_names_no_option_that_a_tool_lacks() -> None:
    assert [cause.id for cause in CAUSES if re.search(r"nsys profile \S+ -p", cause.advice)] == []


def test_a_host_without_gpus_says_so() -> None:
    verdict = diagnose(Window("h", START, START + 10**9, 8, (), (), {}))
    assert verdict.ledger == ()
    assert "no GPU" in verdict.notes[0]


def _rows(**shares: float) -> list[LedgerRow]:
    return [
        LedgerRow(cause, NONE, BY_ID[cause].row_class, share * 10, share) for cause, share in shares.items() if share
    ]


def test_a_window_without_data_is_no_host_without_gpus() -> None:
    verdict = diagnose(Window("h", START, START + 10**10, 8, (), (), {}, measured=False))
    assert verdict.sentence == "There is no data from 2026-09-21 14:13:20 UTC to 2026-09-21 14:13:30 UTC."
    assert verdict.notes == ()


def test_time_without_data_is_told_beside_the_verdict(builder: Any) -> None:
    graphics = np.append(np.full(20, 0.9), np.full(30, np.nan))
    verdict = diagnose(builder.gpu(graphics, sm_active=0.9, sm_occupancy=0.3, dram_active=0.9).window())
    assert verdict.sentence == (
        "The GPU ran at the limit of its memory bandwidth for 36% of 5 s. There is no data for 60% of that time."
    )
    nothing = diagnose(builder.gpu(np.full(50, np.nan)).window())
    assert nothing.sentence == "Of the GPU nothing is known for 100% of 5 s."


def test_less_than_a_second_is_not_told_as_zero(builder: Any) -> None:
    window = builder.gpu(0.0).window()
    sentence = diagnose(replace(window, end_ns=START + 300_000_000)).sentence
    assert "of 300 ms" in sentence
    two = replace(window, end_ns=START + 200_000_000, gpus=window.gpus * 2)
    assert "of 400 GPU-milliseconds" in diagnose(two).sentence


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({"healthy": 0.96, "launch_bound": 0.04}, "healthy"),
        ({"healthy": 0.9, "launch_bound": 0.1}, "launch_bound"),
        ({"memory_bound": 0.5, "launch_bound": 0.4, "healthy": 0.1}, "memory_bound"),
        ({"no_work": 0.8, "healthy": 0.15, "launch_bound": 0.05}, "no_work"),
        ({"no_work": 0.5, "launch_bound": 0.4, "healthy": 0.1}, "launch_bound"),
        ({"unknown": 0.6, "launch_bound": 0.4}, "unknown"),
        ({"unknown": 0.3, "healthy": 0.7}, "unknown"),
        ({"unknown": 0.15, "healthy": 0.85}, "healthy"),
        ({"not_measured": 0.4, "healthy": 0.6}, "healthy"),
        ({"not_measured": 0.6, "healthy": 0.4}, "healthy"),
        ({"not_measured": 0.63, "cpu_preprocess": 0.35, "healthy": 0.02}, "cpu_preprocess"),
        ({"not_measured": 0.9, "launch_bound": 0.02, "healthy": 0.08}, "launch_bound"),
        ({"not_measured": 0.9, "unknown": 0.05, "healthy": 0.05}, "unknown"),
        ({"not_measured": 0.97, "launch_bound": 0.03}, "not_measured"),
    ],
)
def test_choice_of_the_verdict(shares: dict[str, float], expected: str) -> None:
    assert choose(_rows(**shares)) == expected


def test_waits_for_the_gpu_explain_busy_time_first(builder: Any) -> None:
    """A thread in synchronize half of the time, with the GPU busy for half: its other half explains the idle time."""
    window = builder.gpu(0.5, sm_active=0.9).window((FRAMES[3],))
    stacks = window.stacks
    half = StackSamples(**{**vars(stacks), "stacks": ((0,), (1,)), "frames": (FRAMES[3], FRAMES[5]),
                           "stack": np.arange(stacks.times.size) % 2})  # fmt: skip
    (view,) = read_views(Window(**{**vars(window), "stacks": half}))
    assert view.mean_activity(Activity.CPU_WORK) == pytest.approx(1.0)
    assert view.mean_activity(Activity.DEVICE_WAIT) == pytest.approx(0.0)
