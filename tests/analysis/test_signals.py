"""Gaps, cells, and the causes that hand-made windows show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gapscope_backend.analysis.causes import BY_ID, CAUSES
from gapscope_backend.analysis.counters import AROUND_CELLS, around, bridge, hold, read_counters
from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.gaps import find_gaps, longest
from gapscope_backend.analysis.sentence import _SAYS
from gapscope_backend.analysis.verdict import Span
from gapscope_backend.analysis.window import Frame

CELL = 100_000_000
APP = Frame("f", "app.py", 1)
LAUNCH = Frame("Conv2d.forward", "torch/nn/modules/conv.py", 1)
STARTED = Frame("_find_and_load", "<frozen importlib._bootstrap>", 1)


def test_gaps_are_runs_below_the_threshold_and_end_at_missing_data() -> None:
    graphics = np.array([0.5, 0.05, 0.0, np.nan, 0.0, 0.1, 0.09])
    gaps = find_gaps(graphics, 0, 7 * CELL - 1)
    assert gaps == (Span(CELL, 3 * CELL), Span(4 * CELL, 5 * CELL), Span(6 * CELL, 7 * CELL - 1))
    assert longest(gaps, 1) == (gaps[0],)


def test_slow_samples_fill_the_time_that_they_describe() -> None:
    cells = np.full(12, np.nan)
    cells[[4, 9]] = 1.0, 2.0
    held = hold(cells, 5.0)
    assert held[:10].tolist() == [1.0] * 5 + [2.0] * 5
    assert np.isnan(held[10:]).all()
    assert np.isnan(hold(cells, 1.0)[3])


def test_a_lost_sample_of_a_slow_series_is_spoken_for_by_the_next() -> None:
    cells = np.full(40, np.nan)
    cells[[9, 29]] = 1.0, 3.0
    assert hold(cells, 10.0)[10:30].tolist() == [3.0] * 20
    cells[29] = np.nan
    cells[39] = 3.0
    assert np.isnan(hold(cells, 10.0)[10:18]).all()


def test_single_holes_are_bridged_and_longer_ones_stay() -> None:
    nan = np.nan
    cells = np.array([nan, 1.0, nan, 3.0, nan, nan, 6.0, nan, nan, nan, 9.0, nan])
    assert bridge(cells)[1:7].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert np.isnan(bridge(cells)[[0, 7, 8, 9, 11]]).all()


@pytest.mark.parametrize("size", [0, 1, 30, 51, 200])
def test_sums_around_each_cell(size: int) -> None:
    cells = np.random.default_rng(size).random((2, size))
    near = [cells[:, max(0, i - AROUND_CELLS) : i + AROUND_CELLS + 1].sum(axis=1) for i in range(size)]
    assert around(cells) == pytest.approx(np.array(near).T.reshape(2, size))


def test_the_driver_s_utilization_stands_in_for_the_counter(builder: Any) -> None:
    builder.put("gpu_utilization_ratio", 0.4).cpu(1.0)
    window = builder.window()
    counters = read_counters(window, window.gpus[0])
    assert (counters.source, counters.exact) == ("gpu_utilization_ratio", False)
    verdict = diagnose(window)
    assert {row.cause for row in verdict.ledger} == {"host_side", "unknown"}
    assert "no hardware counters" in verdict.notes[0]


def test_pure_python_is_cpu_work_and_native_calls_are_not_named(builder: Any) -> None:
    builder.gpu(0.1, sm_active=0.9, sm_occupancy=0.5).cpu(1.0)
    assert diagnose(builder.window((APP,), owns_gil=True)).verdict == "cpu_preprocess"
    assert diagnose(builder.window((APP,), owns_gil=False)).verdict == "host_side"


def test_native_calls_with_tiny_kernels_are_launches(builder: Any) -> None:
    builder.gpu(0.3, sm_active=0.02).cpu(1.0)
    assert diagnose(builder.window((APP,))).verdict == "launch_bound"


def test_framework_calls_with_a_busy_pool_of_threads_are_tensors_on_the_cpu(builder: Any) -> None:
    builder.gpu(0.1, sm_active=0.9, sm_occupancy=0.5).cpu(1.0)
    assert diagnose(builder.window((LAUNCH,))).verdict == "launch_bound"
    builder.cpu(6.0)
    assert diagnose(builder.window((LAUNCH,))).verdict == "cpu_preprocess"


def test_imports_are_the_host_s_side_only(builder: Any) -> None:
    builder.gpu(0.0).cpu(1.0)
    assert diagnose(builder.window((STARTED, APP))).verdict == "host_side"


def test_a_blocked_thread_is_no_work_in_pauses_and_waits_upstream_between_work(builder: Any) -> None:
    builder.cpu(0.02)
    builder.gpu(0.0)
    assert diagnose(builder.window((APP,), active=False)).verdict == "no_work"
    builder.gpu(0.2, sm_active=0.9, sm_occupancy=0.5)
    assert diagnose(builder.window((APP,), active=False)).verdict == "upstream_wait"


def test_a_blocked_thread_whose_process_reads_waits_for_storage(builder: Any) -> None:
    builder.cpu(0.02).gpu(0.2, sm_active=0.9, sm_occupancy=0.5)
    builder.put("process_read_bytes_per_second", 3e8, "process:10")
    assert diagnose(builder.window((APP,), active=False)).verdict == "io_wait"


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        ({"sm_active": 0.95, "sm_occupancy": 0.3, "tensor_active": 0.8}, "healthy"),
        ({"sm_active": 0.9, "sm_occupancy": 0.3, "dram_active": 0.85}, "memory_bound"),
        ({"sm_active": 0.9, "sm_occupancy": 0.3, "dram_active": 0.55}, "healthy"),
        ({"sm_active": 0.9, "sm_occupancy": 0.3, "fp32_active": 0.6}, "no_tensor_cores"),
        ({"sm_active": 0.9, "sm_occupancy": 0.3, "fp32_active": 0.6, "tensor_active": 0.3}, "healthy"),
        ({"sm_active": 0.4, "sm_occupancy": 0.03}, "batch_too_small"),
        ({"sm_active": 0.05, "sm_occupancy": 0.01}, "gpu_side"),
    ],
)
def test_busy_time_is_judged_by_the_pipes(builder: Any, metrics: dict[str, float], expected: str) -> None:
    verdict = diagnose(builder.gpu(1.0, **metrics).cpu(0.1).window())
    assert verdict.verdict == expected
    assert verdict.ledger[0].share == pytest.approx(1.0)


def test_every_cause_is_complete_and_has_its_sentence() -> None:
    assert len(BY_ID) == len(CAUSES)
    assert set(_SAYS) == set(BY_ID)
    for cause in CAUSES:
        assert cause.row_class in {"fault", "limit", "unused", "missing", "good"}
        assert cause.title, cause.id
        assert cause.advice, cause.id
        assert cause.would_change, cause.id
