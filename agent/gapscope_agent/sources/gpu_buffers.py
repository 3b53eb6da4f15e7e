"""``gpu_power_buffer`` and ``gpu_utilization_buffer``: the samples that the driver itself keeps.

The driver samples power every 20 ms (119 kept, 2.4 s) and utilization every 200 ms (71 kept, 14 s); one call a second
drains what is new. Timestamps are CPU time in microseconds since the epoch.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar

from gapscope_agent.errors import SourceUnavailableError
from gapscope_agent.nvml.failure import NOT_FOUND, Failure
from gapscope_agent.nvml.session import Device, Session
from gapscope_agent.reading import (
    GpuPowerBuffer,
    GpuUtilizationBuffer,
    PowerSample,
    Reading,
    UtilizationSample,
)
from gapscope_agent.sources.base import GpuSource

_VALUE_FIELDS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""Member of nvmlValue_t by nvmlValueType_t."""

CLOCK_SLACK_US = 1_000_000


class LastSeen:
    """The newest driver timestamp taken from each GPU, so that nothing is taken twice."""

    def __init__(self, period_seconds: float) -> None:
        self._period_us = int(period_seconds * 1e6)
        self._by_gpu: dict[int, int] = {}

    def before(self, gpu: int, now_us: int) -> int:
        """The timestamp after which samples are new. After a clock that was set back, one period ago."""
        last = self._by_gpu.get(gpu, 0)
        if not 0 < last <= now_us + CLOCK_SLACK_US:
            last = now_us - self._period_us
        return last

    def advance(self, gpu: int, newest_us: int) -> None:
        """Everything up to ``newest_us`` was taken."""
        self._by_gpu[gpu] = newest_us


class _Buffer(GpuSource):
    lane = "gpu_slow"
    period_seconds = 1.0
    deadline_seconds = 2.0
    _type_constant: ClassVar[str]

    def attach(self, session: Session) -> None:
        """Start at the present: what the driver kept from before is not part of this stream."""
        self._last = LastSeen(self.period_seconds)
        self._type = session.constant(self._type_constant)

    def sample_session(self, session: Session, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        """A reading for each GPU with new samples. Raises SourceUnavailableError where no GPU keeps a buffer."""
        readings: list[Reading] = []
        reasons: list[str] = []
        for device in session.devices:
            samples, failure = self._drain(session, device, now_ns)
            if failure is not None:
                reasons.append(f"GPU {device.index}: {failure.reason}")
            elif samples:
                readings.append(self._reading(now_ns, mono_ns, device.index, samples))
        if len(reasons) == len(session.devices):
            raise SourceUnavailableError(f"The driver gives no samples of its own: {'; '.join(reasons)}.")
        return readings

    def _drain(self, session: Session, device: Device, now_ns: int) -> tuple[list[tuple[int, float]], Failure | None]:
        """New ``(t_us, value)`` of one GPU, oldest first; empty where the driver has none."""
        now_us = now_ns // 1000
        last = self._last.before(device.index, now_us)
        answer, failure = session.ask("nvmlDeviceGetSamples", device.handle, self._type, last)
        if failure is not None:
            return [], None if failure.code == NOT_FOUND else failure
        value_type, samples = answer
        member = _VALUE_FIELDS[value_type]
        taken = sorted(
            (sample.timeStamp, getattr(sample.sampleValue, member))
            for sample in samples
            if last < sample.timeStamp <= now_us + CLOCK_SLACK_US
        )
        if taken:
            self._last.advance(device.index, taken[-1][0])
        return taken, None

    @abc.abstractmethod
    def _reading(self, now_ns: int, mono_ns: int, gpu: int, samples: list[tuple[int, float]]) -> Reading: ...


class GpuPower(_Buffer):
    """Power at 50 Hz for one call a second (0.3 to 0.5 ms)."""

    name = "gpu_power_buffer"
    phase_seconds = 0.04
    _type_constant = "NVML_TOTAL_POWER_SAMPLES"

    def _reading(self, now_ns: int, mono_ns: int, gpu: int, samples: list[tuple[int, float]]) -> Reading:
        entries = [PowerSample(t_us, int(value)) for t_us, value in samples]
        return GpuPowerBuffer(t=now_ns, mono=mono_ns, gpu=gpu, samples=entries)


class GpuUtilization(_Buffer):
    """The driver's utilization. A call takes 2 ms and the driver keeps 14 s, so it is asked every 5 s."""

    name = "gpu_utilization_buffer"
    period_seconds = 5.0
    phase_seconds = 0.24
    _type_constant = "NVML_GPU_UTILIZATION_SAMPLES"

    def _reading(self, now_ns: int, mono_ns: int, gpu: int, samples: list[tuple[int, float]]) -> Reading:
        entries = [UtilizationSample(t_us, float(value)) for t_us, value in samples]
        return GpuUtilizationBuffer(t=now_ns, mono=mono_ns, gpu=gpu, samples=entries)
