"""Causes that no recording shows as its main one, made by altering one figure of a recording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.verdict import LedgerRow, Verdict
from gapscope_backend.analysis.window import Series, Window
from tests.analysis.accuracy import Case

pytestmark = pytest.mark.cases
Recorded = Callable[[str], Window]


def _with(window: Window, **changed: Series) -> Window:
    return replace(window, series={**window.series, **{(window.gpus[0].key, m): s for m, s in changed.items()}})


def _scaled(window: Window, entity: str, metric: str, factor: float) -> Window:
    series = window.series[entity, metric]
    return replace(window, series={**window.series, (entity, metric): Series(series.times, series.values * factor)})


def _row(verdict: Verdict, cause: str) -> LedgerRow:
    return next(row for row in verdict.ledger if row.cause == cause)


def test_copies_in_the_other_direction(recorded: Recorded) -> None:
    window = recorded("copy-pageable")
    key = window.gpus[0].key
    rx, tx = window.series[key, "pcie_rx_bytes_per_second"], window.series[key, "pcie_tx_bytes_per_second"]
    swapped = _with(window, pcie_rx_bytes_per_second=tx, pcie_tx_bytes_per_second=rx)
    assert diagnose(swapped).verdict == "d2h_copy"


def test_narrow_link_under_load(recorded: Recorded) -> None:
    window = recorded("copy-pinned")
    rx = window.series[window.gpus[0].key, "pcie_rx_bytes_per_second"]
    narrow = _with(
        window,
        pcie_link_width_lanes=Series(rx.times, np.full(rx.times.size, 4.0)),
        pcie_rx_bytes_per_second=Series(rx.times, rx.values / 4),
    )
    assert diagnose(narrow).verdict == "pcie_degraded"


def test_power_cap_at_full_load_is_no_throttle_but_held_clocks_are(recorded: Recorded) -> None:
    window = recorded("gemm-bf16")
    assert diagnose(window).verdict == "healthy"
    slowed = diagnose(_scaled(window, window.gpus[0].key, "gpu_sm_clock_hertz", 0.5))
    assert slowed.verdict == "throttled"
    assert _row(slowed, "throttled").share == pytest.approx(1 - 1.48 * 0.5 / 1.98, abs=0.05)


def test_thermal_slowdown(recorded: Recorded) -> None:
    window = recorded("decode-matrix-vector")
    key = window.gpus[0].key
    clock = window.series[key, "gpu_sm_clock_hertz"]
    hot = _with(
        window,
        gpu_sm_clock_hertz=Series(clock.times, clock.values * 0.8),
        gpu_clocks_event_reasons_code=Series(clock.times, np.full(clock.times.size, float(0x40))),
    )
    assert _row(diagnose(hot), "throttled").share == pytest.approx(0.2, abs=0.03)


def test_nobody_holds_the_gpu(recorded: Recorded) -> None:
    window = recorded("no-traffic")
    key = window.gpus[0].key
    count = window.series[key, "gpu_processes_count"]
    free = _with(window, gpu_processes_count=Series(count.times, np.zeros(count.times.size)))
    free = replace(free, gpus=(replace(window.gpus[0], owners=()),), processes=(), stacks=None)
    assert diagnose(free).verdict == "unallocated"
    blind = replace(free, series={k: s for k, s in free.series.items() if k[1] != "gpu_processes_count"})
    assert diagnose(blind).verdict == "unknown"


def test_no_core_for_the_feeding_thread(recorded: Recorded) -> None:
    window = recorded("image-service-pil")
    busy = window.series["host", "cpu_busy_cores"]
    full = replace(
        window,
        series={
            **window.series,
            ("host", "cpu_busy_cores"): Series(busy.times, np.full(busy.times.size, float(window.logical_cpus))),
        },
    )
    owner = window.gpus[0].owners[0]
    assert diagnose(full).verdict == "cpu_preprocess"
    assert diagnose(_scaled(full, f"thread:{owner}/{owner}", "thread_cpu_cores", 0.3)).verdict == "cpu_oversubscribed"


def test_quota_of_the_container(recorded: Recorded) -> None:
    window = recorded("image-service-pil")
    times = window.series["host", "cpu_busy_cores"].times
    held = {("cgroup:/pod", "cgroup_cpu_throttled_ratio"): Series(times, np.full(times.size, 0.7))}
    verdict = diagnose(replace(window, series={**window.series, **held}))
    assert verdict.verdict == "cpu_quota"
    assert _row(verdict, "cpu_preprocess").share < _row(verdict, "cpu_quota").share


def test_loader_whose_workers_are_idle_waits_for_storage(recorded: Recorded) -> None:
    window = recorded("train-two-workers")
    owners = set(window.gpus[0].owners)
    series = {
        key: Series(s.times, s.values * 0.02)
        if key[1] == "process_cpu_cores" and int(key[0].removeprefix("process:")) not in owners
        else s
        for key, s in window.series.items()
    }
    assert diagnose(replace(window, series=series)).verdict == "io_wait"


def test_queue_filled_by_a_busy_thread(recorded: Recorded) -> None:
    """A second Python thread that computes while the feeding thread waits on its queue is the reason."""
    window = recorded("image-service-batch-window")
    stacks = window.stacks
    assert stacks is not None
    owner = window.gpus[0].owners[0]
    busy = replace(stacks, active=np.where(stacks.tids == owner, stacks.active, np.int8(1)))
    assert diagnose(window).verdict == "upstream_wait"
    verdict = diagnose(replace(window, stacks=busy))
    assert verdict.verdict == "cpu_preprocess"
    assert _row(verdict, "cpu_preprocess").hotspots[0].thread == "client"


def test_hotspots_of_a_waiting_trainer_are_in_its_workers(recorded: Recorded) -> None:
    row = _row(diagnose(recorded("train-two-workers")), "dataloader_starved")
    assert row.hotspots[0].file == "PIL/ImageFile.py"
    assert sum(spot.share for spot in row.hotspots) <= 1.0 + 1e-9


def test_hotspots_name_the_functions_of_the_preprocessing(recorded: Recorded) -> None:
    row = _row(diagnose(recorded("image-service-pil")), "cpu_preprocess")
    assert [spot.function for spot in row.hotspots[:2]] == ["ImageFile.load", "Image.resize"]
    assert row.hotspots[0].share == pytest.approx(0.42, abs=0.03)
    assert row.evidence_for[0].spans


def _constant(window: Window, entity: str, metric: str, value: float) -> Window:
    """The window with a series that always has one value, at the host's CPU times."""
    times = window.series["host", "cpu_busy_cores"].times
    return replace(window, series={**window.series, (entity, metric): Series(times, np.full(times.size, value))})


def _on_socket(window: Window, cpu: int, near: str) -> Window:
    owner = window.gpus[0].owners[0]
    placed = _constant(window, f"thread:{owner}/{owner}", "thread_last_cpu_index", float(cpu))
    return replace(placed, gpus=(replace(window.gpus[0], cpu_affinity=near),))


def test_slow_copies_from_the_far_socket(recorded: Recorded) -> None:
    window = recorded("copy-pinned")
    slow = _scaled(window, window.gpus[0].key, "pcie_rx_bytes_per_second", 0.55)
    assert diagnose(_on_socket(slow, 12, "0-7")).verdict == "numa_remote"
    assert diagnose(_on_socket(slow, 3, "0-7")).verdict == "h2d_copy"
    assert diagnose(_on_socket(window, 12, "0-7")).verdict == "h2d_copy"
    assert diagnose(_on_socket(slow, 12, "0-15")).verdict == "h2d_copy"


def test_staged_copies_lose_a_part_to_the_far_socket(recorded: Recorded) -> None:
    verdict = diagnose(_on_socket(recorded("copy-pageable"), 12, "0-7"))
    assert verdict.verdict == "h2d_copy"
    assert _row(verdict, "numa_remote").share == pytest.approx(0.3, abs=0.05)


def test_full_device_memory_with_a_busy_allocator(recorded: Recorded) -> None:
    window = recorded("empty-cache")
    used = float(np.nanmax(window.series[window.gpus[0].key, "gpu_memory_used_bytes"].values))
    full = _constant(window, window.gpus[0].key, "gpu_memory_used_bytes", used)
    roomy = replace(full, gpus=(replace(window.gpus[0], memory_total_bytes=used * 2),))
    tight = replace(full, gpus=(replace(window.gpus[0], memory_total_bytes=used * 1.02),))
    assert diagnose(roomy).verdict == "allocator_thrash"
    assert diagnose(tight).verdict == "memory_pressure"


def test_full_device_memory_alone_is_no_fault(recorded: Recorded) -> None:
    window = recorded("decode-matrix-vector")
    used = float(np.nanmax(window.series[window.gpus[0].key, "gpu_memory_used_bytes"].values))
    tight = replace(window, gpus=(replace(window.gpus[0], memory_total_bytes=used * 1.01),))
    assert diagnose(tight).verdict == "memory_bound"


def test_host_that_waits_for_memory(recorded: Recorded) -> None:
    window = _constant(recorded("train-no-workers"), "host", "host_memory_pressure_ratio", 0.7)
    verdict = diagnose(window)
    assert verdict.verdict == "memory_pressure"
    assert _row(verdict, "memory_pressure").share == pytest.approx(0.7, abs=0.05)
    swaps = _constant(recorded("train-no-workers"), "host", "host_swap_in_bytes_per_second", 5e7)
    assert _row(diagnose(swaps), "memory_pressure").share == pytest.approx(0.5, abs=0.05)


def test_run_delay_tells_of_taken_cores_whether_the_host_is_full_or_a_cpu_set_is(recorded: Recorded) -> None:
    window = recorded("decode-small-eager")
    owner = window.gpus[0].owners[0]
    waits = _constant(window, f"thread:{owner}/{owner}", "thread_run_delay_ratio", 2.0)
    for cores in (float(window.logical_cpus), 2.0):
        assert diagnose(_constant(waits, "host", "cpu_busy_cores", cores)).verdict == "cpu_oversubscribed"
    ready = _constant(window, f"thread:{owner}/{owner}", "thread_run_delay_ratio", 0.01)
    assert diagnose(ready).verdict == "launch_bound"


@pytest.mark.parametrize("name", ["tiny-kernels", "train-two-workers"])
def test_quota_whatever_the_thread_does(name: str, recorded: Recorded) -> None:
    window = recorded(name)
    verdict = diagnose(_constant(window, "cgroup:/kubepods/pod1", "cgroup_cpu_throttled_ratio", 0.8))
    assert verdict.verdict == "cpu_quota"


SELDOM = {"d2h_copy", "cpu_oversubscribed", "cpu_quota", "throttled", "pcie_degraded", "numa_remote", "memory_pressure"}


def test_no_recording_shows_them_by_mistake(case: Case) -> None:
    for row in diagnose(case.window).ledger:
        assert row.cause not in SELDOM or row.share < 0.02
