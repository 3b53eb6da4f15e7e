"""Who holds the GPUs: memory and SM share of each process, all GPUs together, once a second.

The GPUs answer one after the other; a round ends when each has answered or one answers again, and its rows carry the
time of its last answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from statistics import fmean

from gapscope_agent.derive.table import Tables
from gapscope_agent.reading import GpuProcesses

MEMORY = "process_gpu_memory_bytes"
SM = "process_gpu_sm_ratio"


class GpuProcessesDeriver:
    """Collects the answers of all GPUs into rounds. ``in_tree`` tells whether the process tree follows a pid."""

    def __init__(self, tables: Tables, keys: Mapping[int, str], in_tree: Callable[[int], bool]) -> None:
        self._tables = tables
        self._keys = keys
        self._in_tree = in_tree
        self._round: dict[int, GpuProcesses] = {}
        self._owned: dict[int, set[str]] = {}
        self._holders: dict[int, set[int]] = {}
        self._newest: dict[int, set[int]] = {}

    @property
    def owners(self) -> frozenset[int]:
        """Pids that hold a context on some GPU now."""
        return frozenset(pid for pids in self._newest.values() for pid in pids)

    def drained(self) -> None:
        """A new batch begins: its owners are those of now, and those still to come."""
        self._holders = {gpu: set(pids) for gpu, pids in self._newest.items()}

    def feed(self, reading: GpuProcesses) -> None:
        """Add the count of this GPU, and the rows of the processes when the round is complete."""
        count = {"gpu_processes_count": float(len(reading.processes))}
        reasons: dict[str, str] = {}
        if "processes" in reading.missing:
            count = {"gpu_processes_count": math.nan}
            reasons = {"gpu_processes_count": reading.missing["processes"]}
        self._tables.table(self._keys[reading.gpu], "processes").append(reading.t, count, reasons)
        self._newest[reading.gpu] = {process.pid for process in reading.processes}
        during = self._holders.setdefault(reading.gpu, set())
        during.update(self._newest[reading.gpu])
        self._tables.label(self._keys[reading.gpu], owners=",".join(map(str, sorted(during))))
        if reading.gpu in self._round:
            self._finish()
        self._round[reading.gpu] = reading
        if len(self._round) >= len(self._keys):
            self._finish()

    def _finish(self) -> None:
        readings = list(self._round.values())
        self._round = {}
        holders: dict[int, list[GpuProcesses]] = {}
        for reading in readings:
            for process in reading.processes:
                holders.setdefault(process.pid, []).append(reading)
        t = max(reading.t for reading in readings)
        for pid, held in holders.items():
            self._row(t, pid, held)
        for pid in self._owned.keys() - holders.keys():
            if not self._in_tree(pid):
                del self._owned[pid]
                self._tables.forget(f"process:{pid}")

    def _row(self, t: int, pid: int, held: list[GpuProcesses]) -> None:
        owned = self._owned.setdefault(pid, set())
        owned.update(self._keys[reading.gpu] for reading in held)
        key = f"process:{pid}"
        self._tables.label(key, pid=pid, owner_of=",".join(sorted(owned)))
        memory, memory_reason = _memory(pid, held)
        share, share_reason = _share(pid, held)
        self._tables.table(key, "gpu").append(t, {MEMORY: memory, SM: share}, {MEMORY: memory_reason, SM: share_reason})


def _memory(pid: int, held: list[GpuProcesses]) -> tuple[float, str]:
    total = 0.0
    for reading in held:
        for process in reading.processes:
            if process.pid == pid:
                if process.memory_used_bytes is None:
                    return math.nan, reading.missing.get("memory_used_bytes", "not_reported")
                total += process.memory_used_bytes
    return total, ""


def _share(pid: int, held: list[GpuProcesses]) -> tuple[float, str]:
    """Sum over GPUs of the mean of the driver's samples; NaN when no GPU gave one for this process."""
    shares = []
    for reading in held:
        samples = [sample.sm_util_pct / 100 for sample in reading.utilization if sample.pid == pid]
        if samples and 0 <= fmean(samples) <= 1.5:
            shares.append(min(1.0, fmean(samples)))
    if shares:
        return sum(shares), ""
    return math.nan, next((r.missing["utilization"] for r in held if "utilization" in r.missing), "no_sample")
