"""CPU time around a GPU per cell: of its owners, of their children, and of the whole host."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapscope_backend.analysis.counters import held_cells
from gapscope_backend.analysis.window import Floats, Gpu, Process, Window

INIT_PID = 1
LOADER_THREAD = "pt_data_worker"
"""Name that PyTorch gives to the main thread of its DataLoader workers (torch/utils/data/_utils/worker.py)."""


@dataclass(frozen=True)
class CpuAround:
    """Cores per cell, float64[cells], NaN where not measured.

    ``children`` are the processes below the owners and beside them (below the owners' parents) that hold no GPU.
    """

    owners: Floats
    owners_system: Floats
    children: Floats
    host: Floats
    iowait: Floats
    loader_children: bool
    read_bytes: Floats
    child_pids: tuple[int, ...] = ()


def cpu_list(text: str | None) -> frozenset[int]:
    """CPUs of a list as the kernel writes it (``0-15,32-47``); empty where there is none or it is not one."""
    found: set[int] = set()
    for item in (text or "").split(","):
        first, _, last = item.strip().partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()):
            continue
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def descendants(processes: tuple[Process, ...], roots: tuple[int, ...]) -> list[Process]:
    """Processes below ``roots``, roots excluded."""
    found: set[int] = set(roots)
    below: list[Process] = []
    grew = True
    while grew:
        fresh = [p for p in processes if p.parent_pid in found and p.pid not in found]
        grew = bool(fresh)
        below += fresh
        found.update(p.pid for p in fresh)
    return below


def _sum(window: Window, pids: list[int], metric: str) -> Floats:
    rows = [held_cells(window, f"process:{pid}", metric) for pid in pids]
    if not rows:
        return np.full(window.cell_count, np.nan)
    stacked = np.array(rows)
    return np.where(np.isnan(stacked).all(axis=0), np.nan, np.nansum(stacked, axis=0))


def read_cpu(window: Window, gpu: Gpu) -> CpuAround:
    """CPU figures around ``gpu``; processes that hold this or another GPU are nobody's children here."""
    holders = {pid for other in window.gpus for pid in other.owners}
    known = {p.pid for p in window.processes}
    parents = {p.parent_pid for p in window.processes if p.pid in gpu.owners and p.parent_pid in known}
    roots = tuple(sorted((parents - {INIT_PID}) | set(gpu.owners)))
    below = [p for p in descendants(window.processes, roots) if p.pid not in holders]
    children = [p.pid for p in below]
    return CpuAround(
        owners=_sum(window, list(gpu.owners), "process_cpu_cores"),
        owners_system=_sum(window, list(gpu.owners), "process_system_cores"),
        children=_sum(window, children, "process_cpu_cores"),
        host=held_cells(window, "host", "cpu_busy_cores"),
        iowait=held_cells(window, "host", "cpu_iowait_cores"),
        loader_children=any(LOADER_THREAD in p.threads.values() for p in below),
        read_bytes=_sum(window, list(gpu.owners), "process_read_bytes_per_second"),
        child_pids=tuple(children),
    )
