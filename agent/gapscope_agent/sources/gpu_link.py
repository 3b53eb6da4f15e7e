"""``gpu_link``: generation and width of the PCIe link, now and at most. Once a second, 40 us."""

from __future__ import annotations

from collections.abc import Sequence

from gapscope_agent.nvml.session import Device, Session
from gapscope_agent.reading import GpuLink, Reading
from gapscope_agent.sources.base import GpuSource

LINK_CALLS = {
    "generation": "nvmlDeviceGetCurrPcieLinkGeneration",
    "width": "nvmlDeviceGetCurrPcieLinkWidth",
    "max_generation": "nvmlDeviceGetMaxPcieLinkGeneration",
    "max_width": "nvmlDeviceGetMaxPcieLinkWidth",
}


def ask_link(session: Session, device: Device) -> tuple[dict[str, int | None], dict[str, str]]:
    """The four figures of the link, and the reasons of those that are missing."""
    figures: dict[str, int | None] = {}
    missing: dict[str, str] = {}
    for field, function in LINK_CALLS.items():
        figures[field], failure = session.ask(function, device.handle)
        if failure is not None:
            missing[field] = failure.reason
    return figures, missing


class GpuPcieLink(GpuSource):
    """State of the PCIe link of each GPU."""

    name = "gpu_link"
    lane = "gpu_slow"
    period_seconds = 1.0
    deadline_seconds = 2.0
    phase_seconds = 0.64

    def sample_session(self, session: Session, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        """A reading for each GPU."""
        readings = []
        for device in session.devices:
            figures, missing = ask_link(session, device)
            readings.append(GpuLink(t=now_ns, mono=mono_ns, gpu=device.index, missing=missing, **figures))
        return readings
