"""GPU readings: counters and gauges at 10 Hz, the driver's own buffers, link, violations and health."""

from __future__ import annotations

import math
from collections.abc import Iterable

from gapscope_agent.catalog import GPM_SERIES, HEALTH_SERIES, VIOLATION_SERIES
from gapscope_agent.derive.counters import Counters, limited
from gapscope_agent.derive.table import CLOCK_STEP_NS, Tables
from gapscope_agent.reading import (
    Gpu,
    GpuFacts,
    GpuHealth,
    GpuLink,
    GpuPowerBuffer,
    GpuUtilizationBuffer,
    GpuViolation,
)

GAUGES: dict[str, tuple[str, float]] = {
    "utilization_gpu_pct": ("gpu_utilization_ratio", 0.01),
    "utilization_memory_pct": ("gpu_memory_utilization_ratio", 0.01),
    "memory_used_bytes": ("gpu_memory_used_bytes", 1.0),
    "power_milliwatts": ("gpu_power_watts", 0.001),
    "temperature_celsius": ("gpu_temperature_celsius", 1.0),
    "sm_clock_mhz": ("gpu_sm_clock_hertz", 1e6),
    "memory_clock_mhz": ("gpu_memory_clock_hertz", 1e6),
    "clocks_event_reasons": ("gpu_clocks_event_reasons_code", 1.0),
}
"""Field of a Gpu reading to (series, factor)."""

HIGHEST_RATIO = 1.5
"""A ratio a little above 1 is the jitter of two clocks and is held at 1; beyond this it is no measurement."""


class GpuDeriver:
    """Everything of one GPU except its processes and the lag estimate. Samples before ``start_ns`` are left out:
    the driver's buffers reach seconds back, into time that an earlier run of the agent has sent.
    """

    def __init__(self, tables: Tables, key: str, start_ns: int) -> None:
        self._tables = tables
        self._key = key
        self._start_ns = start_ns
        self._violations = Counters()

    def feed_gpu(self, reading: Gpu) -> None:
        """One row of gauges and hardware counters."""
        values: dict[str, float] = {}
        reasons: dict[str, str] = {}
        for field, (series, factor) in GAUGES.items():
            _put(values, reasons, series, getattr(reading, field), factor, reading.missing.get(field))
        gpm, absent = reading.gpm or {}, reading.missing.get("gpm")
        if gpm and not any(gpm.values()):  # even an idle GPU answers this very polling over PCIe
            gpm, absent = {}, "counters_not_renewed"
        for field, (series, factor) in GPM_SERIES.items():
            reason = reading.missing.get(field) or reading.missing.get(f"gpm.{field}") or absent
            if field in gpm and reason is None:
                reason = "no_number"
            _put(values, reasons, series, gpm.get(field), factor, reason)
        self._tables.table(self._key, "gpu").append(reading.t, values, reasons)

    def feed_power_buffer(self, reading: GpuPowerBuffer) -> list[tuple[int, float]]:
        """The samples not seen before, as (ns, watts)."""
        samples = ((sample.t_us * 1000, sample.power_milliwatts / 1e3) for sample in reading.samples)
        return self._fine("gpu_power_fine_watts", reading.t, samples)

    def feed_utilization_buffer(self, reading: GpuUtilizationBuffer) -> list[tuple[int, float]]:
        """The samples not seen before, as (ns, ratio)."""
        samples = ((sample.t_us * 1000, min(1.0, sample.utilization_gpu_pct / 100)) for sample in reading.samples)
        return self._fine("gpu_utilization_fine_ratio", reading.t, samples)

    def feed_link(self, reading: GpuLink) -> None:
        """Current link state; the maxima become labels where the origin did not know them."""
        values: dict[str, float] = {}
        reasons: dict[str, str] = {}
        missing = reading.missing
        _put(values, reasons, "pcie_link_generation", reading.generation, 1.0, missing.get("generation", "no_number"))
        _put(values, reasons, "pcie_link_width_lanes", reading.width, 1.0, missing.get("width", "no_number"))
        self._tables.label(self._key, pcie_max_generation=reading.max_generation, pcie_max_width=reading.max_width)
        self._tables.table(self._key, "link").append(reading.t, values, reasons)

    def feed_violation(self, reading: GpuViolation) -> None:
        """Share of time for which clocks were held down since the last reading."""
        counters: dict[str, float | None] = {}
        missing: dict[str, str] = {}
        for policy, held in reading.violation_ns.items():
            series = VIOLATION_SERIES.get(policy)
            if series is not None:
                counters[series] = None if held is None else held / 1e9
                missing[series] = reading.missing.get(policy, "no_number")
        rates = limited(self._violations.step(reading, counters, missing), *counters)
        self._tables.table(self._key, "violation").append(reading.t, rates.values, rates.reasons)

    def feed_health(self, reading: GpuHealth) -> None:
        """Cumulative counts as they are."""
        values: dict[str, float] = {}
        reasons: dict[str, str] = {}
        for name, count in reading.counters.items():
            series = HEALTH_SERIES.get(name)
            if series is not None:
                _put(values, reasons, series, count, 1.0, reading.missing.get(name, "no_number"))
        self._tables.table(self._key, "health").append(reading.t, values, reasons)

    def _fine(self, series: str, now: int, samples: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
        table = self._tables.table(self._key, series)
        last = table.last_t if table.last_t is not None else self._start_ns - 1
        if last > now + CLOCK_STEP_NS:  # the wall clock was set back
            last = now - CLOCK_STEP_NS
        fresh = [sample for sample in sorted(samples) if last < sample[0] <= now + CLOCK_STEP_NS]
        return [sample for sample in fresh if table.append(sample[0], {series: sample[1]})]


def gpu_labels(facts: GpuFacts) -> dict[str, str | float | None]:
    """Labels of a GPU entity, units in the names; PCIe figures are the maxima of the link."""
    power = facts.power_limit_milliwatts
    return {
        "index": facts.index,
        "name": facts.name,
        "uuid": facts.uuid,
        "memory_total_bytes": facts.memory_total_bytes,
        "power_limit_watts": None if power is None else power / 1e3,
        "max_sm_clock_hertz": _hertz(facts.max_sm_clock_mhz),
        "max_memory_clock_hertz": _hertz(facts.max_memory_clock_mhz),
        "pcie_max_generation": facts.pcie.max_generation if facts.pcie else None,
        "pcie_max_width": facts.pcie.max_width if facts.pcie else None,
        "cpu_affinity": facts.cpu_affinity,
    }


def _hertz(mhz: int | None) -> int | None:
    return None if mhz is None else mhz * 1_000_000


def _put(
    values: dict[str, float],
    reasons: dict[str, str],
    series: str,
    raw: float | None,
    factor: float,
    reason: str | None,
) -> None:
    """Set a value in its unit, or NaN with the reason; a field that is absent without a reason gives no series."""
    if raw is None:
        if reason is not None:
            values[series] = math.nan
            reasons[series] = reason
        return
    value = raw * factor
    if series.endswith("_ratio"):
        if not -0.5 < value <= HIGHEST_RATIO:
            values[series] = math.nan
            reasons[series] = "implausible"
            return
        value = min(max(value, 0.0), 1.0)
    elif not 0 <= value < math.inf:
        values[series] = math.nan
        reasons[series] = "implausible"
        return
    values[series] = value
