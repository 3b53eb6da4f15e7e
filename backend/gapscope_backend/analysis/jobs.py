"""Jobs: the processes that hold GPUs, grouped by the launcher that they have in common, and each one's ledger."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gapscope_backend.analysis.counters import held_cells
from gapscope_backend.analysis.verdict import LedgerRow
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Process, Window

HOUSEKEEPING = re.compile(
    r"^\S*?(init|systemd|containerd-shim\S*|dockerd|tini|dumb-init|s6-\S+|supervisord|kubelet|sshd:?|tmux:?|screen|cron\w*"
    r"|slurmstepd:?|slurmd|runc|conmon|jupyter-\w+)(\s|$)|^-?\S*?(ba|z|fi|da|k|tc)?sh$"
)
"""Commands of processes that start unrelated jobs: service managers, container shims and shells without a script."""


@dataclass(frozen=True)
class Job:
    """``root`` is the pid of the topmost process; ``pids`` are those that hold GPUs."""

    root: int
    command: str
    pids: tuple[int, ...]


def _root(pid: int, processes: Mapping[int, Process]) -> int:
    """The topmost ancestor of ``pid`` below service managers and interactive shells."""
    seen = {pid}
    while True:
        parent = processes[pid].parent_pid if pid in processes else 0
        if parent not in processes or parent in seen or parent == 1 or HOUSEKEEPING.search(processes[parent].command):
            return pid
        seen.add(parent)
        pid = parent


def find_jobs(window: Window) -> tuple[Job, ...]:
    """Jobs of the window, by their smallest owner pid; an owner of unknown parentage is a job of its own."""
    processes = {process.pid: process for process in window.processes}
    groups: dict[int, set[int]] = {}
    for gpu in window.gpus:
        for pid in gpu.owners:
            groups.setdefault(_root(pid, processes), set()).add(pid)
    jobs = [
        Job(root, processes[root].command if root in processes else "", tuple(sorted(pids)))
        for root, pids in groups.items()
    ]
    return tuple(sorted(jobs, key=lambda job: job.pids))


def _used(view: View, pids: Sequence[int]) -> float:
    rates = (view.mean(held_cells(view.window, f"process:{pid}", "process_gpu_sm_ratio")) for pid in pids)
    return sum(rate for rate in rates if rate is not None)


def job_shares(view: View, jobs: Sequence[Job]) -> dict[Job, float]:
    """Parts of one GPU's time by job, summing to 1: by SM utilization, equal where nobody's is known."""
    mine = {job: [pid for pid in job.pids if pid in view.gpu.owners] for job in jobs}
    used = {job: _used(view, pids) for job, pids in mine.items() if pids}
    total = sum(used.values())
    return {job: value / total if total > 0 else 1.0 / len(used) for job, value in used.items()}


def scaled(row: LedgerRow, share: float) -> LedgerRow:
    """A part of a row."""
    gain = row.expected_gain_gpu_seconds
    return replace(
        row,
        gpu_seconds=row.gpu_seconds * share,
        busy_gpu_seconds=row.busy_gpu_seconds * share,
        expected_gain_gpu_seconds=None if gain is None else gain * share,
        cost=None if row.cost is None else row.cost * share,
    )
