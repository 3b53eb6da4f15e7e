"""Jobs, money, expected gains and roofs beside the ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.jobs import find_jobs
from gapscope_backend.analysis.verdict import Level, Verdict
from gapscope_backend.analysis.window import Gpu, Process, Window
from tests.analysis.accuracy import Case
from tests.analysis.splices import beside_each_other

Recorded = Callable[[str], Window]


def _window(processes: list[Process], owners: list[tuple[int, ...]]) -> Window:
    gpus = tuple(Gpu(f"gpu:{i}", i, "GPU", pids) for i, pids in enumerate(owners))
    return Window("h", 0, 10**9, 8, gpus, tuple(processes), {})


@pytest.mark.parametrize(
    ("processes", "owners", "expected"),
    [
        ([Process(5, 1, "torchrun"), Process(6, 5, "python"), Process(7, 5, "python")], [(6,), (7,)], [(6, 7)]),
        ([Process(6, 3, "python a"), Process(7, 3, "python b")], [(6,), (7,)], [(6,), (7,)]),
        ([Process(3, 1, "-bash"), Process(6, 3, "python a"), Process(7, 3, "python b")], [(6,), (7,)], [(6,), (7,)]),
        ([Process(3, 1, "bash run.sh"), Process(6, 3, "a"), Process(7, 3, "b")], [(6,), (7,)], [(6, 7)]),
        ([Process(3, 2, "containerd-shim -n k8s"), Process(6, 3, "a"), Process(7, 3, "b")], [(6,), (7,)], [(6,), (7,)]),
        ([], [(6, 7), (7,)], [(6,), (7,)]),
        ([Process(6, 7, "a"), Process(7, 6, "b")], [(6,)], [(6,)]),
    ],
)
def test_jobs_are_what_one_launcher_started(
    processes: list[Process], owners: list[tuple[int, ...]], expected: list[tuple[int, ...]]
) -> None:
    assert [job.pids for job in find_jobs(_window(processes, owners))] == expected


@pytest.mark.cases
def test_jobs_sum_to_the_whole(case: Case) -> None:
    verdict = diagnose(case.window)
    assert sum(job.gpu_seconds for job in verdict.jobs) == pytest.approx(case.window.seconds * len(case.window.gpus))
    assert sum(job.lost_gpu_seconds for job in verdict.jobs) == pytest.approx(verdict.lost_gpu_seconds)
    for job in verdict.jobs:
        assert sum(row.gpu_seconds for row in job.ledger) == pytest.approx(job.gpu_seconds)
        assert sum(row.share for row in job.ledger) == pytest.approx(1.0)


@pytest.mark.cases
def test_ranks_are_one_job_and_strangers_are_two(recorded: Recorded) -> None:
    ranks = diagnose(recorded("ddp-straggler")).jobs
    assert [len(job.gpus) for job in ranks] == [2]
    strangers = diagnose(beside_each_other(recorded("image-service-pil"), recorded("no-traffic"), 8)).jobs
    assert [job.verdict for job in strangers] == ["cpu_preprocess", "no_work"]
    assert strangers[0].lost_gpu_seconds == pytest.approx(8.0, abs=0.1)
    assert strangers[1].unused_gpu_seconds == pytest.approx(8.0, abs=0.3)


@pytest.mark.cases
def test_money_counts_lost_and_unused_apart(recorded: Recorded) -> None:
    verdict = diagnose(recorded("bursts"), price_per_gpu_hour=3.6)
    assert verdict.unused_cost == pytest.approx(verdict.unused_gpu_seconds * 0.001)
    assert verdict.lost_cost == pytest.approx(verdict.lost_gpu_seconds * 0.001)
    assert verdict.unused_gpu_hours == pytest.approx(verdict.unused_gpu_seconds / 3600)
    costs = [row.cost for row in verdict.ledger]
    assert sum(cost for cost in costs if cost is not None) == pytest.approx(
        verdict.end_ns / 1e12 - verdict.start_ns / 1e12
    )
    free = diagnose(recorded("bursts"))
    assert (free.lost_cost, free.price_per_gpu_hour, free.ledger[0].cost) == (None, None, None)


def _gain(verdict: Verdict, cause: str) -> float:
    row = next(row for row in verdict.ledger if row.cause == cause)
    assert row.expected_gain
    assert row.expected_gain_gpu_seconds is not None
    assert row.source
    return row.expected_gain_gpu_seconds / row.gpu_seconds


@pytest.mark.cases
@pytest.mark.parametrize(
    ("name", "cause", "expected"),
    [
        ("image-service-pil", "cpu_preprocess", 0.07),
        ("copy-pageable", "h2d_copy", 0.64),
        ("gemm-fp32", "no_tensor_cores", 0.875),
        ("image-service-batch-1", "batch_too_small", 0.54),
        ("train-two-workers", "dataloader_starved", 0.87),
        ("two-gpus-uneven", "gpu_imbalance", 0.5),
    ],
)
def test_expected_gain(name: str, cause: str, expected: float, recorded: Recorded) -> None:
    assert _gain(diagnose(recorded(name)), cause) == pytest.approx(expected, abs=0.05)


def test_every_gain_is_at_most_its_row(case: Case) -> None:
    for row in diagnose(case.window).ledger:
        assert 0.0 <= (row.expected_gain_gpu_seconds or 0.0) <= row.gpu_seconds + 1e-9


def _nearest(levels: tuple[Level, ...]) -> list[str]:
    return [level.name for level in levels if level.nearest]


@pytest.mark.parametrize(
    ("metrics", "nearest"),
    [
        ({"dram_active": 0.9, "tensor_active": 0.1}, ["memory_roof_ratio"]),
        ({"dram_active": 0.2, "tensor_active": 0.8}, ["tensor_roof_ratio"]),
        ({"dram_active": 0.2, "fp32_active": 0.7}, ["fp32_roof_ratio"]),
        ({}, []),
    ],
)
def test_nearest_roof(metrics: dict[str, float], nearest: list[str], builder: Any) -> None:
    levels = diagnose(builder.gpu(0.5, sm_active=0.9, **metrics).window()).gpus[0].levels
    assert _nearest(levels) == nearest
    roofs = {level.name: level.value for level in levels if level.level == "roofs"}
    assert roofs["memory_roof_ratio"] == pytest.approx(metrics.get("dram_active", 0.0))


def test_roofs_without_counters_are_not_known(builder: Any) -> None:
    window = builder.put("gpu_utilization_ratio", np.full(50, 0.4)).window()
    assert [level.value for level in diagnose(window).gpus[0].levels if level.level == "roofs"] == [None] * 3
    assert diagnose(replace(window, gpus=())).jobs == ()
