"""``gpu_health``: the counters that page people at night, every 30 s (the calls are slow and the figures are too)."""

from __future__ import annotations

from collections.abc import Sequence

from gapscope_agent.nvml.session import Device, Session
from gapscope_agent.reading import GpuHealth, Reading
from gapscope_agent.sources.base import GpuSource

_ECC_KINDS = {
    "ecc_uncorrected": "NVML_MEMORY_ERROR_TYPE_UNCORRECTED",
    "ecc_corrected": "NVML_MEMORY_ERROR_TYPE_CORRECTED",
}
_REMAPPED_ROWS = (
    "remapped_rows_corrected",
    "remapped_rows_uncorrected",
    "remapped_rows_pending",
    "remapped_rows_failed",
)
"""In the order in which nvmlDeviceGetRemappedRows answers."""


class GpuHealthCounters(GpuSource):
    """ECC errors, remapped rows and PCIe replays."""

    name = "gpu_health"
    lane = "gpu_slow"
    period_seconds = 30.0
    deadline_seconds = 5.0
    phase_seconds = 0.94

    def sample_session(self, session: Session, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        """A reading for each GPU."""
        readings = []
        for device in session.devices:
            counters, missing = _counters(session, device)
            readings.append(GpuHealth(t=now_ns, mono=mono_ns, gpu=device.index, counters=counters, missing=missing))
        return readings


def _counters(session: Session, device: Device) -> tuple[dict[str, int | None], dict[str, str]]:
    counters: dict[str, int | None] = {}
    missing: dict[str, str] = {}
    volatile = session.constant("NVML_VOLATILE_ECC")
    for name, constant in _ECC_KINDS.items():
        kind = session.constant(constant)
        counters[name], failure = session.ask("nvmlDeviceGetTotalEccErrors", device.handle, kind, volatile)
        if failure is not None:
            missing[name] = failure.reason
    counters["pcie_replays"], failure = session.ask("nvmlDeviceGetPcieReplayCounter", device.handle)
    if failure is not None:
        missing["pcie_replays"] = failure.reason
    rows, failure = session.ask("nvmlDeviceGetRemappedRows", device.handle)
    for position, name in enumerate(_REMAPPED_ROWS):
        counters[name] = None if failure is not None else int(rows[position])
        if failure is not None:
            missing[name] = failure.reason
    return counters, missing
