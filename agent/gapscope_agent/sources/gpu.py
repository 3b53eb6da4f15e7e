"""``gpu``: ten looks a second at each GPU, driver figures and hardware counters.

On an H200 a look costs 0.5 ms and the arithmetic on the counters another 1.2 to 1.7 ms. So unless somebody pays
attention (a live view, a recording), the looks of a second are held back and settled together: seconds in which the
engine was idle or busy throughout and power stood still take one piece of arithmetic, all others ten.

The calls here answer in microseconds. Calls that take milliseconds have sources of their own, on another thread;
nvmlDeviceGetPcieThroughput blocks for 21 ms and is not used at all (GPM has the PCIe rates).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gapscope_agent.errors import DriverLostError
from gapscope_agent.nvml.failure import FUNCTION_NOT_FOUND
from gapscope_agent.nvml.gpm import NOT_RENEWED, GpmCounters
from gapscope_agent.nvml.session import Device, Session
from gapscope_agent.reading import Gpu, Reading
from gapscope_agent.sources.base import Context, GpuSource

SHIFT_SECONDS = 0.03
SHIFT_EVERY_NS = 10_000_000_000
"""Ticks that fall on the moment at which the driver renews the counters see some renewals twice and some not at all.
Moving away from that moment ends it; several GPUs may disagree, so not too often."""

HOLD_TICKS = 10
REOPENED = "the driver was opened anew before the counters were read"
STILL_WATTS, STILL_SHARE = 10.0, 0.05
"""Power that moves less than this within a second has seen no change of load (noise at full load is 1 to 2 %)."""

_REASONS = "nvmlDeviceGetCurrentClocksEventReasons"
_REASONS_BEFORE_535 = "nvmlDeviceGetCurrentClocksThrottleReasons"


class GpuFigures(GpuSource):
    """Driver figures and a GPM pair of each GPU, at 10 Hz: the fastest at which the counters are renewed."""

    name = "gpu"
    lane = "gpu"
    period_seconds = 0.1
    deadline_seconds = 1.0

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._held: list[list[Gpu]] = []
        self._unsettled: list[Gpu] = []

    def attach(self, session: Session) -> None:
        """Allocate the snapshots of each GPU and find the names of calls that changed over time."""
        self._counters = {device.index: GpmCounters(session, device) for device in session.devices}
        _, failure = session.ask(_REASONS, session.devices[0].handle)
        too_old = failure is not None and failure.code == FUNCTION_NOT_FOUND
        self._reasons_call = _REASONS_BEFORE_535 if too_old else _REASONS
        self._unsettled += [reading for tick in self._held for reading in tick]
        for reading in self._unsettled:
            reading.missing["gpm"] = REOPENED
        self._held = []
        self._shifted_ns = -SHIFT_EVERY_NS
        self._temperature_sensor = session.constant("NVML_TEMPERATURE_GPU")
        self._sm_clock = session.constant("NVML_CLOCK_SM")
        self._memory_clock = session.constant("NVML_CLOCK_MEM")

    def sample_session(self, session: Session, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        """All snapshots first, so that the GPUs are seen at one moment; the arithmetic when it is due."""
        taken = [self._counters[device.index].snapshot(mono_ns) for device in session.devices]
        readings = [self._look(session, device, now_ns, mono_ns) for device in session.devices]
        for reading in readings:
            self._show_drop_watch(reading, "utilization", reading.utilization_gpu_pct)
        mute = next(
            (one for one, snapshot in zip(readings, taken, strict=True) if not snapshot and _is_mute(one)), None
        )
        if mute is not None and not self._held:
            raise DriverLostError(f"GPU {mute.gpu} answers nothing: {mute.missing['power_milliwatts']}")
        self._held.append(readings)
        if mute is None and not self.context.attention.is_set() and len(self._held) < HOLD_TICKS:
            return []
        return self._release(mono_ns)

    def rest(self, mono_ns: int) -> Sequence[Reading]:
        """What is held back when sampling ends."""
        return self._release(mono_ns)

    def close(self) -> None:
        """Free the snapshots."""
        if self._session is not None:
            for counters in self._counters.values():
                counters.close()
        super().close()

    def _release(self, mono_ns: int) -> list[Gpu]:
        """What was held back, with its counters, in order of time."""
        held, self._held = self._held, []
        unsettled, self._unsettled = self._unsettled, []
        for position, device_readings in enumerate(zip(*held, strict=True)):
            counters = self._counters[held[0][position].gpu]
            pairs = counters.settle(len(held), calm=_is_calm(device_readings))
            for reading, pair in zip(device_readings, pairs, strict=True):
                reading.gpm, reading.gpm_span_ns = pair.values, pair.span_ns
                reading.missing.update(pair.missing)
                self._show_drop_watch(reading, "graphics", (pair.values or {}).get("graphics_util_pct"))
        readings = [*unsettled, *(reading for tick in held for reading in tick)]
        if any(reading.missing.get("gpm") == NOT_RENEWED for reading in readings):
            self._move_away(mono_ns)
        return readings

    def _show_drop_watch(self, reading: Gpu, figure: str, percent: float | None) -> None:
        """The utilization is known at once, the counter when it is settled; a copy keeps the former at 100 %."""
        ratio = None if percent is None else percent / 100
        self.context.drops.look(reading.gpu, figure, reading.mono or 0, ratio)

    def _move_away(self, mono_ns: int) -> None:
        if mono_ns - self._shifted_ns >= SHIFT_EVERY_NS:
            self._shifted_ns = mono_ns
            self.shift_seconds = SHIFT_SECONDS

    def _look(self, session: Session, device: Device, now_ns: int, mono_ns: int) -> Gpu:
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
        return reading


def _is_calm(readings: Sequence[Gpu]) -> bool:
    """Neither power nor utilization saw a change of load between these looks."""
    watts = [reading.power_milliwatts / 1e3 for reading in readings if reading.power_milliwatts is not None]
    used = [reading.utilization_gpu_pct for reading in readings if reading.utilization_gpu_pct is not None]
    if len(watts) < len(readings) or len(used) < len(readings):
        return False
    return max(watts) - min(watts) <= max(STILL_WATTS, STILL_SHARE * max(watts)) and max(used) - min(used) <= 1


def _is_mute(reading: Gpu) -> bool:
    """A GPU that answers nothing at all is gone (a revoked device node answers "unknown error" to everything)."""
    return (
        reading.power_milliwatts is None
        and reading.memory_used_bytes is None
        and reading.utilization_gpu_pct is None
        and reading.sm_clock_mhz is None
        and reading.temperature_celsius is None
    )
