"""``gpu_violation``: time for which clocks were held down. A counter, so short throttles are not missed.

Every 5 s; 0.6 to 0.9 ms a call, so only the two policies that the catalogue names are asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from gapscope_agent.nvml.session import Session
from gapscope_agent.reading import GpuViolation, Reading
from gapscope_agent.sources.base import GpuSource

POLICIES = {"power": "NVML_PERF_POLICY_POWER", "thermal": "NVML_PERF_POLICY_THERMAL"}


class GpuViolationTime(GpuSource):
    """Cumulative time (ns) held down by power and by temperature."""

    name = "gpu_violation"
    lane = "gpu_slow"
    period_seconds = 5.0
    deadline_seconds = 2.0
    phase_seconds = 0.84

    def attach(self, session: Session) -> None:
        """Look the policies' numbers up once."""
        self._policies = {policy: session.constant(constant) for policy, constant in POLICIES.items()}

    def sample_session(self, session: Session, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        """A reading for each GPU."""
        readings = []
        for device in session.devices:
            times: dict[str, int | None] = {}
            missing: dict[str, str] = {}
            for policy, number in self._policies.items():
                answer, failure = session.ask("nvmlDeviceGetViolationStatus", device.handle, number)
                times[policy] = None if failure is not None else int(answer.violationTime)
                if failure is not None:
                    missing[policy] = failure.reason
            readings.append(GpuViolation(t=now_ns, mono=mono_ns, gpu=device.index, violation_ns=times, missing=missing))
        return readings
