"""The driver's choke point and the pairs of hardware counters, against a scripted library."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest

from gapscope_agent.catalog import GPM_SERIES
from gapscope_agent.errors import DriverLostError, SourceUnavailableError
from gapscope_agent.nvml import failure, gpm
from gapscope_agent.nvml.driver import Driver
from gapscope_agent.nvml.gpm import METRICS, GpmCounters
from tests.agent_sources.fakes import FakeNvml

MS = 1_000_000


def metric(nvml: FakeNvml, field: str) -> int:
    return int(getattr(nvml, dict(METRICS)[field]))


def counters(nvml: FakeNvml) -> GpmCounters:
    session = Driver(nvml).session()
    return GpmCounters(session, session.devices[0])


def look(pairs: GpmCounters, mono_ns: int) -> gpm.Pair:
    pairs.snapshot(mono_ns)
    return pairs.settle(1, calm=False)[0]


def test_failure_codes_are_those_of_the_real_library() -> None:
    for name in ("UNINITIALIZED", "NOT_SUPPORTED", "NO_PERMISSION", "NOT_FOUND", "DRIVER_NOT_LOADED", "TIMEOUT"):
        assert getattr(failure, name) == getattr(pynvml, f"NVML_ERROR_{name}")
    for name in ("LIBRARY_NOT_FOUND", "FUNCTION_NOT_FOUND", "GPU_IS_LOST", "RESET_REQUIRED", "NO_DATA"):
        assert getattr(failure, name) == getattr(pynvml, f"NVML_ERROR_{name}")
    assert failure.LIBRARY_VERSION_MISMATCH == pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH


def test_metrics_exist_in_the_real_library_and_in_the_recorded_fields() -> None:
    assert {field for field, _ in METRICS} == set(GPM_SERIES)
    assert len({getattr(pynvml, constant) for _, constant in METRICS}) == 16
    assert getattr(pynvml, dict(METRICS)["pcie_rx_mib_per_second"]) == pynvml.NVML_GPM_METRIC_PCIE_RX_PER_SEC


def test_a_call_answers_with_a_value_or_a_reason(nvml: FakeNvml) -> None:
    session = Driver(nvml).session()
    assert session.ask("nvmlDeviceGetPowerUsage", "handle-0") == (350_000, None)
    nvml.errors["nvmlDeviceGetPowerUsage"] = failure.NO_PERMISSION
    value, why = session.ask("nvmlDeviceGetPowerUsage", "handle-0")
    assert value is None
    assert why is not None
    assert why.reason == "the driver refuses it to this user"


def test_a_library_without_the_call_is_a_reason_not_a_crash() -> None:
    library: Any = SimpleNamespace(NVMLError=ValueError, nvmlInit=lambda: None)
    with pytest.raises(SourceUnavailableError, match="has no nvmlDeviceGetCount"):
        Driver(library).session()


def test_no_driver_and_no_gpu_are_one_sentence(nvml: FakeNvml) -> None:
    nvml.errors["nvmlInit"] = failure.LIBRARY_NOT_FOUND
    with pytest.raises(SourceUnavailableError, match="no NVIDIA driver is installed"):
        Driver(nvml).session()
    nvml.errors.clear()
    nvml.gpus = 0
    with pytest.raises(SourceUnavailableError, match="finds no GPU"):
        Driver(nvml).session()


def test_a_lost_session_is_opened_anew_once(nvml: FakeNvml) -> None:
    driver = Driver(nvml)
    first = driver.session()
    nvml.errors["nvmlDeviceGetTemperature"] = failure.GPU_IS_LOST
    for _ in range(2):
        with pytest.raises(DriverLostError, match="fell off the bus"):
            first.ask("nvmlDeviceGetTemperature", "handle-0", 0)
    assert nvml.calls["nvmlShutdown"] == 1
    assert driver.session() is not first
    assert nvml.calls["nvmlInit"] == 2


def test_a_gpu_that_does_not_answer_is_left_out_and_the_others_work(nvml: FakeNvml) -> None:
    nvml.gpus = 2
    power = nvml.answers["nvmlDeviceGetPowerUsage"]

    class OneLost(FakeNvml):
        def _nvmlDeviceGetPowerUsage(self, handle: str) -> int:  # noqa: N802
            if handle == "handle-0":
                raise self.NVMLError(failure.GPU_IS_LOST)
            return int(power)

    library = OneLost()
    library.gpus = 2
    session = Driver(library).session()
    assert [device.index for device in session.devices] == [1]
    assert session.left_out == ("GPU 0: the GPU is lost (it fell off the bus)",)


def test_the_first_look_has_no_pair_and_the_second_has(nvml: FakeNvml) -> None:
    pairs = counters(nvml)
    sm, rx = metric(nvml, "sm_util_pct"), metric(nvml, "pcie_rx_mib_per_second")
    nvml.counters = {sm: 100.0, rx: 1.0}
    assert look(pairs, 0).missing == {"gpm": gpm.FIRST_PAIR}
    nvml.counters = {sm: 142.12345, rx: 3.5}
    pair = look(pairs, 100 * MS)
    assert pair.values is not None
    assert pair.values["sm_util_pct"] == 42.123
    assert pair.values["pcie_rx_mib_per_second"] == 2.5
    assert pair.span_ns == 100 * MS
    assert pair.missing == {}
    assert nvml.calls["nvmlGpmSampleAlloc"] == 2


def test_a_short_pair_is_skipped_and_the_next_covers_it(nvml: FakeNvml) -> None:
    pairs = counters(nvml)
    rx = metric(nvml, "pcie_rx_mib_per_second")
    nvml.counters = {rx: 1.0}
    look(pairs, 0)
    nvml.counters = {rx: 2.0}
    assert look(pairs, 60 * MS).missing == {"gpm": gpm.SHORT_PAIR}
    nvml.counters = {rx: 5.0}
    pair = look(pairs, 160 * MS)
    assert pair.span_ns == 160 * MS
    assert pair.values is not None
    assert pair.values["pcie_rx_mib_per_second"] == 4.0


def test_counters_that_were_not_renewed_are_no_idle_gap(nvml: FakeNvml) -> None:
    pairs = counters(nvml)
    rx, dram = metric(nvml, "pcie_rx_mib_per_second"), metric(nvml, "dram_bandwidth_util_pct")
    nvml.counters = {rx: 1.0, dram: math.nan}
    look(pairs, 0)
    assert look(pairs, 100 * MS).missing == {"gpm": gpm.NOT_RENEWED}
    nvml.counters = {rx: 9.0, dram: math.nan}
    pair = look(pairs, 200 * MS)
    assert pair.span_ns == 200 * MS
    assert pair.values is not None
    assert pair.values["pcie_rx_mib_per_second"] == 8.0
    assert pair.values["dram_bandwidth_util_pct"] is None
    assert pair.missing == {"dram_bandwidth_util_pct": gpm.NOT_A_NUMBER}


def test_zeros_that_last_are_believed(nvml: FakeNvml) -> None:
    pairs = counters(nvml)
    looks = [look(pairs, i * 100 * MS) for i in range(6)]
    assert [pair.values is None for pair in looks] == [True, True, True, True, True, False]
    assert looks[-1].span_ns == 500 * MS


def test_a_single_refused_metric_has_its_own_reason(nvml: FakeNvml) -> None:
    pairs = counters(nvml)
    rx = metric(nvml, "pcie_rx_mib_per_second")
    nvml.bad_metrics = {metric(nvml, "nvlink_rx_mib_per_second"): failure.NOT_SUPPORTED}
    nvml.counters = {rx: 1.0}
    look(pairs, 0)
    nvml.counters = {rx: 2.0}
    pair = look(pairs, 100 * MS)
    assert pair.missing == {"nvlink_rx_mib_per_second": "this GPU or its mode does not support it"}


def test_the_real_request_struct_is_filled_and_read_back() -> None:
    class RealStructs(FakeNvml):
        c_nvmlGpmMetricsGet_t = pynvml.c_nvmlGpmMetricsGet_t  # noqa: N815

        def __getattr__(self, name: str) -> Any:
            return getattr(pynvml, name) if name.startswith("NVML_") else super().__getattr__(name)

        def _nvmlGpmSampleAlloc(self) -> Any:  # noqa: N802
            return pynvml.c_nvmlGpmSample_t(pynvml.struct_c_nvmlGpmSample_t())

        def _nvmlGpmSampleGet(self, handle: str, sample: Any) -> None:  # noqa: N802
            assert isinstance(sample, pynvml.c_nvmlGpmSample_t)

        def _nvmlGpmMetricsGet(self, request: Any) -> None:  # noqa: N802
            assert (request.version, request.numMetrics) == (1, 16)
            assert request.sample1
            assert request.sample2
            for position in range(request.numMetrics):
                request.metrics[position].value = float(request.metrics[position].metricId)

    pairs = counters(RealStructs())
    look(pairs, 0)
    pair = look(pairs, 100 * MS)
    assert pair.values == {field: float(getattr(pynvml, constant)) for field, constant in METRICS}


def test_gpus_without_counters_say_so(nvml: FakeNvml) -> None:
    nvml.answers["nvmlGpmQueryDeviceSupport"] = SimpleNamespace(isSupportedDevice=0)
    pair = look(counters(nvml), 0)
    assert pair.values is None
    assert "Hopper or newer" in pair.missing["gpm"]
    nvml.errors["nvmlGpmQueryDeviceSupport"] = failure.NOT_SUPPORTED
    assert "does not support it" in look(counters(nvml), 0).missing["gpm"]


def test_a_refused_snapshot_is_a_reason(nvml: FakeNvml) -> None:
    pairs = counters(nvml)
    nvml.errors["nvmlGpmSampleGet"] = failure.NO_PERMISSION
    assert look(pairs, 0).missing == {"gpm": "the driver refuses it to this user"}
