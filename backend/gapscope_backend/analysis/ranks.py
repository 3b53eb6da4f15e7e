"""The processes of a job side by side: what each of those that hold GPUs did over a window."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gapscope_backend.analysis.verdict import GpuVerdict, Hotspot, JobVerdict
from gapscope_backend.analysis.window import Floats, Process, Window


@dataclass(frozen=True)
class Rank:
    """A process that holds GPUs. Ratios are means over its GPUs and the window, None where nothing was measured.

    ``sm_ratio`` is the part of SM time that the driver puts down to the process, ``gap_seconds`` the gaps of its GPUs
    added up. ``workers`` counts the processes below it that hold no GPU, ``worker_cores`` are theirs together.
    ``hotspot`` is the function that costs its GPUs most.
    """

    pid: int
    command: str
    gpus: tuple[str, ...]
    active_ratio: float | None
    sm_active_ratio: float | None
    sm_ratio: float | None
    memory_bytes: float | None
    cpu_cores: float | None
    workers: int
    worker_cores: float | None
    gap_seconds: float
    hotspot: Hotspot | None


def ranks_of(window: Window, job: JobVerdict, gpus: Sequence[GpuVerdict]) -> tuple[Rank, ...]:
    """The processes of ``job`` that hold GPUs, in the order of its pids; ``gpus`` are the verdicts of the window."""
    processes = {process.pid: process for process in window.processes}
    return tuple(_rank(window, job, pid, processes, gpus) for pid in job.pids)


def _rank(
    window: Window, job: JobVerdict, pid: int, processes: Mapping[int, Process], gpus: Sequence[GpuVerdict]
) -> Rank:
    held = [gpu for gpu in window.gpus if pid in gpu.owners]
    keys = tuple(gpu.key for gpu in held)
    judged = [gpu for gpu in gpus if gpu.gpu in keys]
    workers = [child for child in _below(pid, processes) if child not in job.pids]
    entity = f"process:{pid}"
    return Rank(
        pid=pid,
        command=processes[pid].command if pid in processes else "",
        gpus=keys,
        active_ratio=_mean(window.gpu_cells(gpu, "gpu_graphics_active_ratio") for gpu in held),
        sm_active_ratio=_mean(window.gpu_cells(gpu, "gpu_sm_active_ratio") for gpu in held),
        sm_ratio=_mean([_values(window, entity, "process_gpu_sm_ratio")]),
        memory_bytes=_mean([_values(window, entity, "process_gpu_memory_bytes")]),
        cpu_cores=_mean([_values(window, entity, "process_cpu_cores")]),
        workers=len(workers),
        worker_cores=_sum(_mean([_values(window, f"process:{child}", "process_cpu_cores")]) for child in workers),
        gap_seconds=sum(gpu.gap_seconds for gpu in judged),
        hotspot=_hotspot(judged, {pid, *workers}),
    )


def _below(pid: int, processes: Mapping[int, Process]) -> list[int]:
    """Pids of all processes below one."""
    found: list[int] = []
    layer = {pid}
    while layer:
        layer = {child.pid for child in processes.values() if child.parent_pid in layer} - {pid, *found}
        found += sorted(layer)
    return found


def _values(window: Window, entity: str, metric: str) -> Floats:
    series = window.series.get((entity, metric))
    return np.empty(0) if series is None else series.values


def _mean(parts: Iterable[Floats]) -> float | None:
    known = [part[~np.isnan(part)] for part in parts]
    joined = np.concatenate(known) if known else np.empty(0)
    return float(joined.mean()) if joined.size else None


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _hotspot(gpus: Iterable[GpuVerdict], pids: set[int]) -> Hotspot | None:
    spots = [
        (row.gpu_seconds * spot.share, spot)
        for gpu in gpus
        for row in gpu.ledger
        for spot in row.hotspots
        if spot.pid in pids
    ]
    return max(spots, key=lambda one: one[0])[1] if spots else None
