"""The sources that ask the driver, against a scripted library."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from gapscope_agent.errors import DriverLostError, SourceUnavailableError
from gapscope_agent.nvml import failure
from gapscope_agent.nvml.driver import Driver
from gapscope_agent.nvml.gpm import NOT_RENEWED
from gapscope_agent.reading import (
    Gpu,
    GpuHealth,
    GpuLink,
    GpuPowerBuffer,
    GpuProcesses,
    GpuUtilizationBuffer,
    GpuViolation,
    GpuXid,
    Reading,
)
from gapscope_agent.sources.base import Context, Source
from gapscope_agent.sources.gpu import SHIFT_SECONDS, GpuFigures
from gapscope_agent.sources.gpu_buffers import GpuPower, GpuUtilization
from gapscope_agent.sources.gpu_events import GpuEvents
from gapscope_agent.sources.gpu_health import GpuHealthCounters
from gapscope_agent.sources.gpu_link import GpuPcieLink
from gapscope_agent.sources.gpu_processes import GpuProcessList
from gapscope_agent.sources.gpu_violation import GpuViolationTime
from gapscope_agent.sources.probe import probe
from tests.agent_sources.fakes import FakeClock, FakeNvml

T = 1_700_000_000_000_000_000
US = T // 1000
RX = FakeNvml().NVML_GPM_METRIC_PCIE_RX_PER_SEC


def opened(kind: type[Source], nvml: FakeNvml) -> Source:
    source = kind(Context(driver=Driver(nvml)))
    source.context.attention.set()
    source.open()
    return source


def only(readings: Sequence[Reading]) -> Any:
    (reading,) = readings
    return reading


def sample(t_us: int, value: float) -> SimpleNamespace:
    return SimpleNamespace(timeStamp=t_us, sampleValue=SimpleNamespace(dVal=value, uiVal=int(value)))


def test_gpu_reading_has_every_figure(nvml: FakeNvml) -> None:
    source = opened(GpuFigures, nvml)
    nvml.counters = {RX: 1.0}
    source.sample(T, 0)
    nvml.counters = {RX: 2.0}
    reading = only(source.sample(T + 10**8, 10**8))
    assert isinstance(reading, Gpu)
    assert (reading.t, reading.mono, reading.gpu) == (T + 10**8, 10**8, 0)
    assert (reading.utilization_gpu_pct, reading.utilization_memory_pct) == (97, 40)
    assert (reading.memory_used_bytes, reading.memory_total_bytes) == (10, 100)
    assert (reading.power_milliwatts, reading.temperature_celsius) == (350_000, 55)
    assert (reading.sm_clock_mhz, reading.memory_clock_mhz, reading.clocks_event_reasons) == (1980, 1980, 4)
    assert reading.gpm is not None
    assert reading.gpm["pcie_rx_mib_per_second"] == 1.0
    assert reading.gpm_span_ns == 10**8
    assert reading.missing == {}


def test_the_blocking_throughput_call_is_never_made(nvml: FakeNvml) -> None:
    for kind in (GpuFigures, GpuPower, GpuUtilization, GpuProcessList, GpuPcieLink, GpuViolationTime):
        opened(kind, nvml).sample(T, 0)
    assert "nvmlDeviceGetPcieThroughput" not in nvml.calls
    assert "nvmlDeviceGetFieldValues" not in nvml.calls


def test_each_figure_degrades_alone(nvml: FakeNvml) -> None:
    nvml.errors = {
        "nvmlDeviceGetUtilizationRates": failure.NOT_SUPPORTED,
        "nvmlDeviceGetMemoryInfo": failure.NOT_SUPPORTED,
        "nvmlDeviceGetTemperature": failure.NO_PERMISSION,
    }
    reading = only(opened(GpuFigures, nvml).sample(T, 0))
    assert reading.utilization_gpu_pct is None
    assert reading.power_milliwatts == 350_000
    assert set(reading.missing) == {
        "utilization_gpu_pct",
        "utilization_memory_pct",
        "memory_used_bytes",
        "memory_total_bytes",
        "temperature_celsius",
        "gpm",
    }
    assert reading.missing["temperature_celsius"] == "the driver refuses it to this user"


def test_older_drivers_have_the_older_name_for_reasons(nvml: FakeNvml) -> None:
    nvml.errors["nvmlDeviceGetCurrentClocksEventReasons"] = failure.FUNCTION_NOT_FOUND
    assert only(opened(GpuFigures, nvml).sample(T, 0)).clocks_event_reasons == 8


def test_a_stale_pair_moves_the_ticks_once(nvml: FakeNvml) -> None:
    source = opened(GpuFigures, nvml)
    nvml.counters = {RX: 1.0}
    source.sample(T, 0)
    assert source.shift_seconds == 0.0
    reading = only(source.sample(T, 10**8))
    assert reading.missing["gpm"] == NOT_RENEWED
    assert source.shift_seconds == SHIFT_SECONDS
    source.shift_seconds = 0.0
    source.sample(T, 2 * 10**8)
    assert source.shift_seconds == 0.0


def test_a_gpu_that_answers_nothing_is_lost_not_idle(nvml: FakeNvml) -> None:
    source = opened(GpuFigures, nvml)
    for name in list(nvml.answers):
        if name.startswith("nvmlDeviceGet"):
            nvml.errors[name] = 999
    nvml.errors["nvmlGpmSampleGet"] = 999
    with pytest.raises(DriverLostError, match="GPU 0 answers nothing"):
        source.sample(T, 0)


def test_after_a_driver_reload_the_source_starts_over(nvml: FakeNvml) -> None:
    source = opened(GpuFigures, nvml)
    source.sample(T, 0)
    nvml.errors["nvmlGpmSampleGet"] = failure.UNINITIALIZED
    with pytest.raises(DriverLostError):
        source.sample(T, 10**8)
    nvml.errors.clear()
    nvml.counters = {RX: 50.0}
    source.open()
    reading = only(source.sample(T, 2 * 10**8))
    assert reading.gpm is None
    assert "no earlier snapshot" in reading.missing["gpm"]


def test_close_frees_the_snapshots(nvml: FakeNvml) -> None:
    source = opened(GpuFigures, nvml)
    source.sample(T, 0)
    source.sample(T + 10**8, 10**8)
    source.close()
    source.close()
    assert nvml.calls["nvmlGpmSampleFree"] == nvml.calls["nvmlGpmSampleAlloc"] == 2


def test_power_buffer_is_drained_without_repeats(nvml: FakeNvml) -> None:
    source = opened(GpuPower, nvml)
    kept = [sample(US - 3_000_000, 1), sample(US - 40_000, 124_400), sample(US - 20_000, 124_000)]
    nvml.answers["nvmlDeviceGetSamples"] = (1, kept)
    reading = only(source.sample(T, 0))
    assert isinstance(reading, GpuPowerBuffer)
    assert [(s.t_us - US, s.power_milliwatts) for s in reading.samples] == [(-40_000, 124_400), (-20_000, 124_000)]
    assert source.sample(T + 10**9, 10**9) == []
    assert nvml.last_arguments["nvmlDeviceGetSamples"][2] == US - 20_000


def test_buffer_after_a_clock_set_back_takes_samples_again(nvml: FakeNvml) -> None:
    source = opened(GpuPower, nvml)
    nvml.answers["nvmlDeviceGetSamples"] = (1, [sample(US - 20_000, 5)])
    source.sample(T, 0)
    hour_us = 3_600_000_000
    nvml.answers["nvmlDeviceGetSamples"] = (1, [sample(US - hour_us - 20_000, 6)])
    reading = only(source.sample(T - hour_us * 1000, 10**9))
    assert [s.power_milliwatts for s in reading.samples] == [6]


def test_utilization_buffer_reads_the_type_that_the_driver_names(nvml: FakeNvml) -> None:
    nvml.answers["nvmlDeviceGetSamples"] = (0, [sample(US - 100, 12.5)])
    reading = only(opened(GpuUtilization, nvml).sample(T, 0))
    assert isinstance(reading, GpuUtilizationBuffer)
    assert reading.samples[0].utilization_gpu_pct == 12.5


def test_buffer_without_support_is_unavailable_and_without_news_is_quiet(nvml: FakeNvml) -> None:
    source = opened(GpuUtilization, nvml)
    nvml.errors["nvmlDeviceGetSamples"] = failure.NOT_FOUND
    assert source.sample(T, 0) == []
    nvml.errors["nvmlDeviceGetSamples"] = failure.NOT_SUPPORTED
    with pytest.raises(SourceUnavailableError, match="GPU 0: this GPU or its mode does not support it"):
        source.sample(T, 0)


def test_processes_of_both_kinds_become_the_owners(nvml: FakeNvml) -> None:
    source = opened(GpuProcessList, nvml)
    nvml.answers["nvmlDeviceGetComputeRunningProcesses"] = [SimpleNamespace(pid=42, usedGpuMemory=1000)]
    nvml.answers["nvmlDeviceGetGraphicsRunningProcesses"] = [
        SimpleNamespace(pid=42, usedGpuMemory=1000),
        SimpleNamespace(pid=7, usedGpuMemory=None),
    ]
    nvml.answers["nvmlDeviceGetProcessUtilization"] = [
        SimpleNamespace(timeStamp=US - 100, pid=42, smUtil=80, memUtil=20),
        SimpleNamespace(timeStamp=0, pid=0, smUtil=0, memUtil=0),
    ]
    reading = only(source.sample(T, 0))
    assert isinstance(reading, GpuProcesses)
    assert [(p.pid, p.memory_used_bytes) for p in reading.processes] == [(7, None), (42, 1000)]
    assert [(u.pid, u.sm_util_pct, u.t_us) for u in reading.utilization] == [(42, 80.0, US - 100)]
    assert source.context.owners.pids() == {7, 42}


@pytest.mark.parametrize("code", [failure.NOT_FOUND, failure.SUCCESS])
def test_no_utilization_means_none_used_it(nvml: FakeNvml, code: int) -> None:
    nvml.errors["nvmlDeviceGetProcessUtilization"] = code
    reading = only(opened(GpuProcessList, nvml).sample(T, 0))
    assert reading.utilization == []
    assert reading.missing == {}


def test_refused_processes_have_a_reason(nvml: FakeNvml) -> None:
    nvml.errors["nvmlDeviceGetProcessUtilization"] = failure.NO_PERMISSION
    nvml.errors["nvmlDeviceGetComputeRunningProcesses"] = failure.NOT_SUPPORTED
    reading = only(opened(GpuProcessList, nvml).sample(T, 0))
    assert set(reading.missing) == {"utilization", "processes"}


def test_utilization_timestamps_are_kept_for_each_gpu(nvml: FakeNvml) -> None:
    class Two(FakeNvml):
        asked: list[tuple[str, int]]

        def _nvmlDeviceGetProcessUtilization(self, handle: str, last: int) -> list[SimpleNamespace]:  # noqa: N802
            self.asked.append((handle, last))
            if handle == "handle-1":
                return []
            return [SimpleNamespace(timeStamp=US - 100, pid=1, smUtil=1, memUtil=1)]

    library = Two()
    library.gpus, library.asked = 2, []
    source = opened(GpuProcessList, library)
    source.sample(T, 0)
    source.sample(T + 10**9, 10**9)
    assert library.asked[2:] == [("handle-0", US - 100), ("handle-1", US)]


def test_link_violation_and_health(nvml: FakeNvml) -> None:
    link = only(opened(GpuPcieLink, nvml).sample(T, 0))
    assert isinstance(link, GpuLink)
    assert (link.generation, link.width, link.max_generation, link.max_width) == (5, 16, 5, 16)
    violation = only(opened(GpuViolationTime, nvml).sample(T, 0))
    assert isinstance(violation, GpuViolation)
    assert violation.violation_ns == {"power": 7, "thermal": 7}
    health = only(opened(GpuHealthCounters, nvml).sample(T, 0))
    assert isinstance(health, GpuHealth)
    assert health.counters["ecc_uncorrected"] == 2
    assert health.counters["pcie_replays"] == 3
    assert health.counters["remapped_rows_uncorrected"] == 2


def test_errors_of_a_gpu_are_told_once(nvml: FakeNvml) -> None:
    nvml.gpus = 2
    source = opened(GpuEvents, nvml)
    assert source.sample(T, 0) == []
    nvml.event_sets[1] += [79, 48]
    told = source.sample(T + 1, 1)
    assert [(one.t, one.gpu, one.code) for one in told if isinstance(one, GpuXid)] == [(T + 1, 1, 79), (T + 1, 1, 48)]
    assert source.sample(T + 2, 2) == []
    source.close()
    assert nvml.calls["nvmlEventSetFree"] == 2


def test_a_driver_without_events_says_why(nvml: FakeNvml) -> None:
    nvml.errors["nvmlDeviceRegisterEvents"] = failure.NOT_SUPPORTED
    with pytest.raises(SourceUnavailableError, match="no GPU tells of its errors: this GPU or its mode"):
        opened(GpuEvents, nvml)


def test_health_counters_degrade_alone(nvml: FakeNvml) -> None:
    nvml.errors["nvmlDeviceGetTotalEccErrors"] = failure.NOT_SUPPORTED
    nvml.errors["nvmlDeviceGetViolationStatus"] = failure.NO_PERMISSION
    health = only(opened(GpuHealthCounters, nvml).sample(T, 0))
    assert health.counters["ecc_corrected"] is None
    assert set(health.missing) == {"ecc_corrected", "ecc_uncorrected"}
    violation = only(opened(GpuViolationTime, nvml).sample(T, 0))
    assert violation.violation_ns == {"power": None, "thermal": None}
    assert set(violation.missing) == {"power", "thermal"}


def test_probe_names_the_gpus(nvml: FakeNvml, clock: FakeClock) -> None:
    origin = probe(Context(driver=Driver(nvml)), clock)
    assert origin.format == 2
    assert origin.start_ns == clock.wall
    (gpu,) = origin.gpus
    assert gpu.key == "gpu:GPU-handle-0"
    assert (gpu.power_limit_milliwatts, gpu.max_sm_clock_mhz, gpu.gpm_supported) == (700_000, 1980, True)
    assert gpu.pcie is not None
    assert gpu.pcie.max_width == 16
    assert origin.driver_version == "580.1"


def test_probe_without_a_gpu_says_why(nvml: FakeNvml, clock: FakeClock) -> None:
    nvml.errors["nvmlInit"] = failure.DRIVER_NOT_LOADED
    origin = probe(Context(driver=Driver(nvml)), clock)
    assert origin.gpus == []
    assert origin.notes == ["No GPU figures: the NVIDIA kernel driver is not loaded."]
    assert origin.host.logical_cpus >= 1
