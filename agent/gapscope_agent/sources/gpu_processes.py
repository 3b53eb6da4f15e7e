"""``gpu_processes``: who holds each GPU, and how much of it each used. Once a second.

The utilization call takes 2.0 to 2.5 ms and gives one entry a driver sample; each GPU has its own last timestamp.
PIDs are those of the host, also when the agent runs in a container.
"""

from __future__ import annotations

from collections.abc import Sequence

from gapscope_agent.nvml.failure import NOT_FOUND, SUCCESS
from gapscope_agent.nvml.session import Device, Session
from gapscope_agent.reading import GpuProcess, GpuProcesses, GpuProcessUtilization, Reading
from gapscope_agent.sources.base import GpuSource
from gapscope_agent.sources.gpu_buffers import CLOCK_SLACK_US, LastSeen

_LISTS = ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses")


class GpuProcessList(GpuSource):
    """Processes with a compute or graphics context, and their utilization by the driver's samples."""

    name = "gpu_processes"
    lane = "gpu_slow"
    period_seconds = 1.0
    deadline_seconds = 2.0
    phase_seconds = 0.44

    def attach(self, session: Session) -> None:
        """Owners of an earlier session may have been of other GPUs."""
        self._last = LastSeen(self.period_seconds)
        self.context.owners.clear()

    def sample_session(self, session: Session, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        """A reading for each GPU, and the owners for the source that walks the process tree."""
        readings = []
        for device in session.devices:
            missing: dict[str, str] = {}
            processes = _list_processes(session, device, missing)
            self.context.owners.replace(device.index, (process.pid for process in processes))
            utilization = self._utilization(session, device, now_ns // 1000, missing)
            readings.append(
                GpuProcesses(
                    t=now_ns,
                    mono=mono_ns,
                    gpu=device.index,
                    processes=processes,
                    utilization=utilization,
                    missing=missing,
                )
            )
        return readings

    def _utilization(
        self, session: Session, device: Device, now_us: int, missing: dict[str, str]
    ) -> list[GpuProcessUtilization]:
        last = self._last.before(device.index, now_us)
        samples, failure = session.ask("nvmlDeviceGetProcessUtilization", device.handle, last)
        if failure is not None:
            # "Not found", and in nvidia-ml-py also a success with nothing to copy, mean that nobody used the GPU.
            if failure.code not in (NOT_FOUND, SUCCESS):
                missing["utilization"] = failure.reason
            return []
        # The driver pads its answer with entries of zeros.
        entries = sorted(
            (sample.timeStamp, sample.pid, sample.smUtil, sample.memUtil)
            for sample in samples
            if last < sample.timeStamp <= now_us + CLOCK_SLACK_US and sample.pid
        )
        if entries:
            self._last.advance(device.index, entries[-1][0])
        return [GpuProcessUtilization(pid, float(sm), float(memory), t_us) for t_us, pid, sm, memory in entries]


def _list_processes(session: Session, device: Device, missing: dict[str, str]) -> list[GpuProcess]:
    by_pid: dict[int, GpuProcess] = {}
    for function in _LISTS:
        entries, failure = session.ask(function, device.handle)
        if failure is not None:
            if failure.code != NOT_FOUND:
                missing["processes"] = failure.reason
            continue
        for entry in entries:
            # A process with both kinds of context is listed twice, with the same memory.
            by_pid.setdefault(entry.pid, GpuProcess(entry.pid, entry.usedGpuMemory))
    return [by_pid[pid] for pid in sorted(by_pid)]
