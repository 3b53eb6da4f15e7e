"""Sources of readings, one file each. ``SOURCES`` lists them; a new source is one file and one entry here."""

from __future__ import annotations

from gapscope_agent.sources.base import Context, Source
from gapscope_agent.sources.cpu import CpuJiffies
from gapscope_agent.sources.gpu import GpuFigures
from gapscope_agent.sources.gpu_buffers import GpuPower, GpuUtilization
from gapscope_agent.sources.gpu_events import GpuEvents
from gapscope_agent.sources.gpu_health import GpuHealthCounters
from gapscope_agent.sources.gpu_link import GpuPcieLink
from gapscope_agent.sources.gpu_processes import GpuProcessList
from gapscope_agent.sources.gpu_violation import GpuViolationTime
from gapscope_agent.sources.host import HostFigures
from gapscope_agent.sources.processes import ProcessTree

SOURCES: tuple[type[Source], ...] = (
    GpuFigures,
    GpuPower,
    GpuUtilization,
    GpuProcessList,
    GpuPcieLink,
    GpuViolationTime,
    GpuHealthCounters,
    GpuEvents,
    CpuJiffies,
    HostFigures,
    ProcessTree,
)

__all__ = ["SOURCES", "Context", "Source", "build_sources"]


def build_sources(context: Context) -> list[Source]:
    """One of each, all sharing ``context``."""
    return [source(context) for source in SOURCES]
