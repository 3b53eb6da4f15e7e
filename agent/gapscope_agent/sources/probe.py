"""The facts of this host and its GPUs, which a stream of live readings is read with."""

from __future__ import annotations

import os
import platform
import socket

import psutil

from gapscope_agent.clock import Clock, SystemClock
from gapscope_agent.errors import SourceUnavailableError
from gapscope_agent.nvml.session import Device, Session
from gapscope_agent.reading import GpuFacts, HostFacts, Origin, PcieLink
from gapscope_agent.recording.layout import CURRENT_FORMAT
from gapscope_agent.sources.base import Context
from gapscope_agent.sources.gpu_affinity import ask_affinity
from gapscope_agent.sources.gpu_link import ask_link


def probe(context: Context | None = None, clock: Clock | None = None) -> Origin:
    """Ask the host and the driver. Without a GPU the list is empty and a note says why in one sentence."""
    context = context or Context()
    clock = clock or SystemClock()
    origin = Origin(
        format=CURRENT_FORMAT,
        start_ns=clock.wall_ns(),
        host=HostFacts(
            name=socket.gethostname(),
            logical_cpus=psutil.cpu_count() or os.cpu_count() or 1,
            kernel=platform.release(),
            memory_total_bytes=psutil.virtual_memory().total,
        ),
        gpus=[],
        jiffies_per_second=os.sysconf("SC_CLK_TCK"),
        page_bytes=os.sysconf("SC_PAGE_SIZE"),
    )
    try:
        session = context.driver.session()
        origin.gpus = [_gpu_facts(session, device, origin.host.logical_cpus) for device in session.devices]
    except SourceUnavailableError as error:
        origin.notes = [str(error)]
    else:
        origin.driver_version, _ = session.ask("nvmlSystemGetDriverVersion")
        origin.notes = [f"Left out: {reason}." for reason in session.left_out]
    return origin


def _gpu_facts(session: Session, device: Device, logical_cpus: int) -> GpuFacts:
    memory, _ = session.ask("nvmlDeviceGetMemoryInfo", device.handle)
    limit, _ = session.ask("nvmlDeviceGetEnforcedPowerLimit", device.handle)
    sm_clock = session.constant("NVML_CLOCK_SM")
    memory_clock = session.constant("NVML_CLOCK_MEM")
    max_sm, _ = session.ask("nvmlDeviceGetMaxClockInfo", device.handle, sm_clock)
    max_memory, _ = session.ask("nvmlDeviceGetMaxClockInfo", device.handle, memory_clock)
    link, missing = ask_link(session, device)
    support, failure = session.ask("nvmlGpmQueryDeviceSupport", device.handle)
    return GpuFacts(
        index=device.index,
        name=device.name,
        memory_total_bytes=memory.total if memory is not None else None,
        power_limit_milliwatts=limit,
        max_sm_clock_mhz=max_sm,
        max_memory_clock_mhz=max_memory,
        pcie=PcieLink(**link) if len(missing) < len(link) else None,
        uuid=device.uuid,
        gpm_supported=failure is None and bool(support.isSupportedDevice),
        cpu_affinity=ask_affinity(session, device, logical_cpus),
    )
