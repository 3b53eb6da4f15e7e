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
IDLE_PCT, BUSY_PCT = 0.5, 99.5
"""Over a second: below or above this, none of its 100 ms is more than 5 % from its mean."""

FIRST_PAIR = "the first look has no earlier snapshot to compare with"
SHORT_PAIR = "less than 90 ms since the last look, and the driver renews these counters every 100 ms"
NOT_RENEWED = "the driver had not renewed the counters since the last look"
NOT_A_NUMBER = "the driver gave no number (NaN)"


class Pair(NamedTuple):
    """The figures of a pair, how long it is, and the reasons of what is missing (``gpm``: all of it)."""

    values: dict[str, float | None] | None
    span_ns: int | None
    missing: dict[str, str]


class _Taken(NamedTuple):
    """A snapshot that waits for its arithmetic: the driver's buffer, its moment, and why it failed if it did."""

    sample: Any
    mono_ns: int
    failure: Failure | None


class GpmCounters:
    """Snapshots of one GPU and the arithmetic between them, with one request that is filled again and again.

    A snapshot costs 0.2 ms and the arithmetic 1.2 to 1.7 ms whatever it asks for, and any two snapshots can be paired
    later. So snapshots may be kept for a while and settled together: with one pair where nothing happened between
    them, else with one pair each.
    """

    def __init__(self, session: Session, device: Device) -> None:
        self._session = session
        self._device = device
        self._believed: _Taken | None = None
        self._taken: list[_Taken] = []
        self._free: list[Any] = []
        self._unavailable = self._why_unsupported()
        if not self._unavailable:
            self._request = self._build_request()
            self._results = [self._request.metrics[position] for position in range(len(METRICS))]

    def snapshot(self, mono_ns: int) -> bool:
        """Take a snapshot for :meth:`settle`. ``mono_ns`` is its moment; False where the driver gave none."""
        if self._unavailable:
            return False
        sample, failure = self._free.pop() if self._free else None, None
        if sample is None:
            sample, failure = self._session.ask("nvmlGpmSampleAlloc")
        if failure is None:
            _, failure = self._session.ask("nvmlGpmSampleGet", self._device.handle, sample)
        self._taken.append(_Taken(sample, mono_ns, failure))
        return failure is None

    def settle(self, count: int, *, calm: bool) -> list[Pair]:
        """A pair for each of the ``count`` snapshots since the last call, oldest first.

        ``calm``: nothing else changed meanwhile. Then, if the engine was idle or busy from first to last, one pair over
        all of them answers for each; its ``span_ns`` says so.
        """
        if self._unavailable:
            return [_nothing(self._unavailable)] * count
        taken, self._taken = self._taken, []
        whole = self._one_for_all(taken) if calm and len(taken) > 1 else None
        if whole is not None:
            for kept in taken[:-1]:
                self._free.append(kept.sample)
            self._believe(taken[-1])
            return [whole] * len(taken)
        return [self._settle_one(one) for one in taken]

    def close(self) -> None:
        """Give the snapshots' memory back to the driver."""
        samples = [*self._free, *(one.sample for one in self._taken)]
        samples += [self._believed.sample] if self._believed else []
        for sample in samples:
            if sample is not None:
                self._session.try_ask("nvmlGpmSampleFree", sample)
        self._free, self._taken, self._believed = [], [], None
        self._unavailable = self._unavailable or "closed"

    def _one_for_all(self, taken: list[_Taken]) -> Pair | None:
        if self._believed is None or any(one.failure is not None for one in taken):
            return None
        pair, failure = self._arithmetic(taken[-1])
        if failure is not None or pair.values is None:
            return None
        active = pair.values[METRICS[0][0]]
        return pair if active is not None and (active <= IDLE_PCT or active >= BUSY_PCT) else None

    def _settle_one(self, one: _Taken) -> Pair:
        if one.failure is not None:
            self._free.append(one.sample)
            return _nothing(one.failure.reason)
        if self._believed is None:
            self._believe(one)
            return _nothing(FIRST_PAIR)
        span_ns = one.mono_ns - self._believed.mono_ns
        if span_ns < MIN_SPAN_NS:
            self._free.append(one.sample)
            return _nothing(SHORT_PAIR)
        pair, failure = self._arithmetic(one)
        if failure is None and span_ns < MAX_STALE_NS and _is_empty(pair):
            self._free.append(one.sample)
            return _nothing(NOT_RENEWED)
        self._believe(one)
        return pair

    def _arithmetic(self, newer: _Taken) -> tuple[Pair, Failure | None]:
        assert self._believed is not None
        self._request.sample1, self._request.sample2 = self._believed.sample, newer.sample
        _, failure = self._session.ask("nvmlGpmMetricsGet", self._request)
        if failure is not None:
            return _nothing(failure.reason), failure
        return self._read(newer.mono_ns - self._believed.mono_ns), None

    def _believe(self, one: _Taken) -> None:
        if self._believed is not None:
            self._free.append(self._believed.sample)
        self._believed = one

    def _why_unsupported(self) -> str:
        support, failure = self._session.ask("nvmlGpmQueryDeviceSupport", self._device.handle)
        if failure is not None:
            return f"no hardware counters (GPM): {failure.reason}"
        if not support.isSupportedDevice:
            return "no hardware counters (GPM): they need a Hopper or newer GPU"
        return ""

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


def _is_empty(pair: Pair) -> bool:
    return pair.values is not None and all(
        value == 0 or pair.missing.get(field) == NOT_A_NUMBER for field, value in pair.values.items()
    )


def _nothing(reason: str) -> Pair:
    return Pair(None, None, {"gpm": reason})
