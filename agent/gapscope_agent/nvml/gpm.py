"""GPM: hardware counters of one GPU (Hopper and newer), as ratios over the time between two snapshots.

The driver renews the counters every 100 ms. Two snapshots of the same renewal make a pair of length zero: every figure
is 0, or 0/0 for the DRAM ratio. Believed, such a pair is a false idle gap. So a pair is taken only when at least
``MIN_SPAN_NS`` lie between its snapshots, and a pair whose every figure is 0 (even PCIe, which this very polling
keeps above 0) is discarded: the older snapshot stays, and the next pair covers both cells. At 10 Hz this happened in
up to 4 % of the pairs of a recording on an H200. Zeros that last longer than ``MAX_STALE_NS`` are believed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from gapscope_agent.nvml.failure import Failure, describe
from gapscope_agent.nvml.session import Device, Session

METRICS: tuple[tuple[str, str], ...] = (
    ("graphics_util_pct", "NVML_GPM_METRIC_GRAPHICS_UTIL"),
    ("sm_util_pct", "NVML_GPM_METRIC_SM_UTIL"),
    ("sm_occupancy_pct", "NVML_GPM_METRIC_SM_OCCUPANCY"),
    ("integer_util_pct", "NVML_GPM_METRIC_INTEGER_UTIL"),
    ("any_tensor_util_pct", "NVML_GPM_METRIC_ANY_TENSOR_UTIL"),
    ("dfma_tensor_util_pct", "NVML_GPM_METRIC_DFMA_TENSOR_UTIL"),
    ("hmma_tensor_util_pct", "NVML_GPM_METRIC_HMMA_TENSOR_UTIL"),
    ("imma_tensor_util_pct", "NVML_GPM_METRIC_IMMA_TENSOR_UTIL"),
    ("dram_bandwidth_util_pct", "NVML_GPM_METRIC_DRAM_BW_UTIL"),
    ("fp64_util_pct", "NVML_GPM_METRIC_FP64_UTIL"),
    ("fp32_util_pct", "NVML_GPM_METRIC_FP32_UTIL"),
    ("fp16_util_pct", "NVML_GPM_METRIC_FP16_UTIL"),
    ("pcie_tx_mib_per_second", "NVML_GPM_METRIC_PCIE_TX_PER_SEC"),
    ("pcie_rx_mib_per_second", "NVML_GPM_METRIC_PCIE_RX_PER_SEC"),
    ("nvlink_rx_mib_per_second", "NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC"),
    ("nvlink_tx_mib_per_second", "NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC"),
)
"""Field of the reading, and the driver's name for it. TX is device to host, RX host to device."""

MIN_SPAN_NS = 90_000_000
MAX_STALE_NS = 450_000_000

FIRST_PAIR = "the first look has no earlier snapshot to compare with"
SHORT_PAIR = "less than 90 ms since the last look, and the driver renews these counters every 100 ms"
NOT_RENEWED = "the driver had not renewed the counters since the last look"
NOT_A_NUMBER = "the driver gave no number (NaN)"


class Pair(NamedTuple):
    """The figures of a pair, how long it is, and the reasons of what is missing (``gpm``: all of it)."""

    values: dict[str, float | None] | None
    span_ns: int | None
    missing: dict[str, str]


class GpmCounters:
    """Two snapshots of one GPU that change places, and one request that is filled again and again."""

    def __init__(self, session: Session, device: Device) -> None:
        self._session = session
        self._device = device
        self._older_ns: int | None = None
        self._newer_ns = 0
        self._unavailable = self._why_unsupported()
        if not self._unavailable:
            self._older = self._allocate()
            self._newer = self._allocate()
            self._request = self._build_request()
            self._results = [self._request.metrics[position] for position in range(len(METRICS))]

    def snapshot(self, mono_ns: int) -> Failure | None:
        """Take a snapshot (45 us); :meth:`pair` does the arithmetic (1.3 ms). ``mono_ns`` is its moment."""
        if self._unavailable:
            return None
        _, failure = self._session.ask("nvmlGpmSampleGet", self._device.handle, self._newer)
        self._newer_ns = mono_ns
        return failure

    def pair(self, failure: Failure | None) -> Pair:
        """The figures between the last believed snapshot and the newest. ``failure``: what snapshot() returned."""
        if self._unavailable:
            return _nothing(self._unavailable)
        if failure is not None:
            return _nothing(failure.reason)
        if self._older_ns is None:
            self._swap()
            return _nothing(FIRST_PAIR)
        span_ns = self._newer_ns - self._older_ns
        if span_ns < MIN_SPAN_NS:
            return _nothing(SHORT_PAIR)
        self._request.sample1, self._request.sample2 = self._older, self._newer
        _, failure = self._session.ask("nvmlGpmMetricsGet", self._request)
        if failure is not None:
            self._swap()
            return _nothing(failure.reason)
        pair = self._read(span_ns)
        if span_ns < MAX_STALE_NS and _is_empty(pair):
            return _nothing(NOT_RENEWED)
        self._swap()
        return pair

    def close(self) -> None:
        """Give the snapshots' memory back to the driver."""
        if not self._unavailable:
            self._session.try_ask("nvmlGpmSampleFree", self._older)
            self._session.try_ask("nvmlGpmSampleFree", self._newer)
            self._unavailable = "closed"

    def _why_unsupported(self) -> str:
        support, failure = self._session.ask("nvmlGpmQueryDeviceSupport", self._device.handle)
        if failure is not None:
            return f"no hardware counters (GPM): {failure.reason}"
        if not support.isSupportedDevice:
            return "no hardware counters (GPM): they need a Hopper or newer GPU"
        return ""

    def _allocate(self) -> Any:
        sample, failure = self._session.ask("nvmlGpmSampleAlloc")
        if failure is not None:
            self._unavailable = f"no hardware counters (GPM): {failure.reason}"
        return sample

    def _build_request(self) -> Any:
        library = self._session.library
        request = library.c_nvmlGpmMetricsGet_t()
        request.version = library.NVML_GPM_METRICS_GET_VERSION
        request.numMetrics = len(METRICS)
        for position, (_, constant) in enumerate(METRICS):
            request.metrics[position].metricId = self._session.constant(constant)
        return request

    def _read(self, span_ns: int) -> Pair:
        values: dict[str, float | None] = {}
        missing: dict[str, str] = {}
        for (field, _), metric in zip(METRICS, self._results, strict=True):
            if metric.nvmlReturn != 0:
                values[field] = None
                missing[field] = describe(self._session.library.NVMLError(metric.nvmlReturn)).reason
            elif not math.isfinite(metric.value):
                values[field] = None
                missing[field] = NOT_A_NUMBER
            else:
                values[field] = round(metric.value, 3)
        return Pair(values, span_ns, missing)

    def _swap(self) -> None:
        self._older, self._newer = self._newer, self._older
        self._older_ns = self._newer_ns


def _is_empty(pair: Pair) -> bool:
    return pair.values is not None and all(
        value == 0 or pair.missing.get(field) == NOT_A_NUMBER for field, value in pair.values.items()
    )


def _nothing(reason: str) -> Pair:
    return Pair(None, None, {"gpm": reason})
