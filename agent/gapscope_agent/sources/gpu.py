"""``gpu``: ten looks a second at each GPU, driver figures and hardware counters. Cost 1.4 ms a GPU on an H200.

The calls here answer in microseconds. Calls that take milliseconds have sources of their own, on another thread;
nvmlDeviceGetPcieThroughput blocks for 21 ms and is not used at all (GPM has the PCIe rates).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gapscope_agent.errors import DriverLostError
from gapscope_agent.nvml.failure import FUNCTION_NOT_FOUND, Failure
from gapscope_agent.nvml.gpm import NOT_RENEWED, GpmCounters
from gapscope_agent.nvml.session import Device, Session
from gapscope_agent.reading import Gpu, Reading
from gapscope_agent.sources.base import GpuSource

SHIFT_SECONDS = 0.03
SHIFT_EVERY_NS = 10_000_000_000
"""Ticks that fall on the moment at which the driver renews the counters see some renewals twice and some not at all.
Moving away from that moment ends it; several GPUs may disagree, so not too often."""

_REASONS = "nvmlDeviceGetCurrentClocksEventReasons"
_REASONS_BEFORE_535 = "nvmlDeviceGetCurrentClocksThrottleReasons"


class GpuFigures(GpuSource):
    """Driver figures and a GPM pair of each GPU, at 10 Hz: the fastest at which the counters are renewed."""

    name = "gpu"
    lane = "gpu"
    period_seconds = 0.1
    deadline_seconds = 1.0

    def attach(self, session: Session) -> None:
        """Allocate the snapshots of each GPU and find the names of calls that changed over time."""
        self._counters = {device.index: GpmCounters(session, device) for device in session.devices}
        _, failure = session.ask(_REASONS, session.devices[0].handle)
        too_old = failure is not None and failure.code == FUNCTION_NOT_FOUND
        self._reasons_call = _REASONS_BEFORE_535 if too_old else _REASONS
        self._shifted_ns = -SHIFT_EVERY_NS
        self._temperature_sensor = session.constant("NVML_TEMPERATURE_GPU")
        self._sm_clock = session.constant("NVML_CLOCK_SM")
        self._memory_clock = session.constant("NVML_CLOCK_MEM")

    def sample_session(self, session: Session, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        """All snapshots first, so that the GPUs are seen at one moment; the slower arithmetic after."""
        failures = [self._counters[device.index].snapshot(mono_ns) for device in session.devices]
        readings = [
            self._look(session, device, failure, now_ns, mono_ns)
            for device, failure in zip(session.devices, failures, strict=True)
        ]
        if any(reading.missing.get("gpm") == NOT_RENEWED for reading in readings):
            self._move_away(mono_ns)
        return readings

    def close(self) -> None:
        """Free the snapshots."""
        if self._session is not None:
            for counters in self._counters.values():
                counters.close()
        super().close()

    def _move_away(self, mono_ns: int) -> None:
        if mono_ns - self._shifted_ns >= SHIFT_EVERY_NS:
            self._shifted_ns = mono_ns
            self.shift_seconds = SHIFT_SECONDS

    def _look(self, session: Session, device: Device, snapshot: Failure | None, now_ns: int, mono_ns: int) -> Gpu:
        missing: dict[str, str] = {}

        def figure(field: str, function: str, *arguments: Any) -> Any:
            value, failure = session.ask(function, device.handle, *arguments)
            if failure is not None:
                missing[field] = failure.reason
            return value

        reading = Gpu(
            t=now_ns,
            mono=mono_ns,
            gpu=device.index,
            power_milliwatts=figure("power_milliwatts", "nvmlDeviceGetPowerUsage"),
            temperature_celsius=figure("temperature_celsius", "nvmlDeviceGetTemperature", self._temperature_sensor),
            sm_clock_mhz=figure("sm_clock_mhz", "nvmlDeviceGetClockInfo", self._sm_clock),
            memory_clock_mhz=figure("memory_clock_mhz", "nvmlDeviceGetClockInfo", self._memory_clock),
            clocks_event_reasons=figure("clocks_event_reasons", self._reasons_call),
            missing=missing,
        )
        rates = figure("utilization_gpu_pct", "nvmlDeviceGetUtilizationRates")
        if rates is not None:
            reading.utilization_gpu_pct, reading.utilization_memory_pct = rates.gpu, rates.memory
        else:
            missing["utilization_memory_pct"] = missing["utilization_gpu_pct"]
        memory = figure("memory_used_bytes", "nvmlDeviceGetMemoryInfo")
        if memory is not None:
            reading.memory_used_bytes, reading.memory_total_bytes = memory.used, memory.total
        else:
            missing["memory_total_bytes"] = missing["memory_used_bytes"]
        pair = self._counters[device.index].pair(snapshot)
        reading.gpm, reading.gpm_span_ns = pair.values, pair.span_ns
        missing.update(pair.missing)
        _raise_if_mute(reading)
        return reading


def _raise_if_mute(reading: Gpu) -> None:
    """A GPU that answers nothing at all is gone (a revoked device node answers "unknown error" to everything)."""
    if (
        reading.power_milliwatts is None
        and reading.memory_used_bytes is None
        and reading.utilization_gpu_pct is None
        and reading.sm_clock_mhz is None
        and reading.temperature_celsius is None
        and reading.gpm is None
    ):
        raise DriverLostError(f"GPU {reading.gpu} answers nothing: {reading.missing['power_milliwatts']}")
