"""Stack samples with their meaning: one activity, cell and snapshot per sample."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gapscope_backend.analysis.activity import Activity, is_one_of
from gapscope_backend.analysis.stack_class import classify_stack
from gapscope_backend.analysis.window import CELL_NS, Floats, Ints, StackSamples, Window

Flags = npt.NDArray[np.bool_]

GIL_SWITCHES_PER_SECOND = 100.0
"""A thread that wants the interpreter lock wakes every 5 ms (``sys.getswitchinterval``), 200 times a second; a thread
that waits for anything else in Python does so once per wait."""
GLUE_PYTHON_SHARE = 0.5
"""A function that holds the lock in less than half of its samples runs Python as the glue between native calls.
Seen: 0.14-0.21 while launching kernels, 0.88 in pure Python."""
TID_BITS = 32
ON_CPU_CORES = 0.2
"""Where the sampler does not tell on CPU from off it: a thread with less CPU time than this counts as off."""


@dataclass(frozen=True)
class Samples:
    """Columns of ``StackSamples`` inside the window, with what their stacks mean, their cells and their snapshots."""

    source: StackSamples
    rows: Ints
    pids: Ints
    tids: Ints
    cell: Ints
    activity: Ints
    active: npt.NDArray[np.int8]
    stack: Ints
    feeds: Flags
    reads: Flags
    snapshot: Ints

    def of_processes(self, keep: Flags) -> Samples:
        """The samples for which ``keep`` holds, snapshots numbered anew."""
        _, snapshot = np.unique(self.snapshot[keep], return_inverse=True)
        return Samples(
            source=self.source,
            rows=self.rows[keep],
            pids=self.pids[keep],
            tids=self.tids[keep],
            cell=self.cell[keep],
            activity=self.activity[keep],
            active=self.active[keep],
            stack=self.stack[keep],
            feeds=self.feeds[keep],
            reads=self.reads[keep],
            snapshot=snapshot,
        )

    @cached_property
    def threads(self) -> tuple[Ints, Ints]:
        """Each sample's thread by number, and the first sample of each number."""
        _, first, number = np.unique(self.pids << TID_BITS | self.tids, return_index=True, return_inverse=True)
        return number, first

    @property
    def count(self) -> int:
        """Number of samples."""
        return int(self.rows.size)


def main_thread_switches(window: Window, pid: int, tid: int) -> float:
    """Median voluntary switches a second of a thread; of the main thread by its process. NaN where not measured."""
    for key in ((f"thread:{pid}/{tid}", "thread_voluntary_switches_per_second"),) + (
        ((f"process:{pid}", "process_voluntary_switches_per_second"),) if pid == tid else ()
    ):
        series = window.series.get(key)
        if series is not None and not np.isnan(series.values).all():
            return float(np.nanmedian(series.values))
    return float("nan")


def read_samples(window: Window) -> Samples | None:
    """The window's stack samples, classified; None where there are none."""
    source = window.stacks
    if source is None:
        return None
    rows = np.flatnonzero((source.times >= window.start_ns) & (source.times < window.end_ns))
    if not rows.size:
        return None
    times, pids, tids = source.times[rows], source.pids[rows], source.tids[rows]
    stack = source.stack[rows]
    used, inverse = np.unique(stack, return_inverse=True)
    classes = [classify_stack([source.frames[i] for i in source.stacks[s]]) for s in used.tolist()]
    on, off = np.array([c.on for c in classes]), np.array([c.off for c in classes])
    owns = source.owns_gil[rows]
    active = _with_cpu_time(window, source.active[rows], pids, tids)
    activity = np.where(active[...] == 0, off[inverse], on[inverse]).astype(np.int64)
    known_pids, pid_number = np.unique(pids, return_inverse=True)
    snapshot = np.unique((times - window.start_ns) * known_pids.size + pid_number, return_inverse=True)[1]
    own_code = np.array([c.own_code for c in classes])[inverse]
    open_wait = np.array([c.waits_openly for c in classes])[inverse]
    _tell_python(activity, own_code & (active != 0), owns, _functions(source, used)[inverse])
    computes = is_one_of(activity, (Activity.STALLED, Activity.CPU_WORK))
    returns = is_one_of(activity, (Activity.DEVICE_WAIT, Activity.SYNC))
    candidate = (computes | own_code | returns) & ~open_wait
    _tell_gil_waits(window, activity, active, owns, snapshot, candidate, own_code | returns, pids, tids)
    return Samples(
        source=source,
        rows=rows,
        pids=pids,
        tids=tids,
        cell=(times - window.start_ns) // CELL_NS,
        activity=activity,
        active=active,
        stack=stack,
        feeds=np.array([c.feeds for c in classes])[inverse],
        reads=np.array([c.reads for c in classes])[inverse],
        snapshot=snapshot,
    )


def _pairs(pids: Ints, tids: Ints) -> list[tuple[int, int]]:
    """The different threads among samples."""
    keys = np.unique(pids << TID_BITS | tids)
    return [(key >> TID_BITS, key & (1 << TID_BITS) - 1) for key in keys.tolist()]


def _with_cpu_time(window: Window, active: npt.NDArray[np.int8], pids: Ints, tids: Ints) -> npt.NDArray[np.int8]:
    """``active`` with unknown samples of threads that use next to no CPU time set to off the CPU."""
    unknown = active < 0
    active = active.copy()
    for pid, tid in _pairs(pids[unknown], tids[unknown]):
        series = window.series.get((f"thread:{pid}/{tid}", "thread_cpu_cores"))
        if series is not None and not np.isnan(series.values).all() and np.nanmean(series.values) < ON_CPU_CORES:
            active[unknown & (pids == pid) & (tids == tid)] = 0
    return active


def _functions(source: StackSamples, used: Ints) -> Ints:
    """A number for the innermost function of each of the ``used`` stacks; -1 where a stack has no frame."""
    numbers: dict[tuple[str, str], int] = {}
    found = []
    for stack in used.tolist():
        frame = source.frames[source.stacks[stack][0]] if source.stacks[stack] else None
        found.append(-1 if frame is None else numbers.setdefault((frame.file, frame.function), len(numbers)))
    return np.array(found, dtype=np.int64)


def _tell_python(activity: Ints, running: Flags, owns: npt.NDArray[np.int8], functions: Ints) -> None:
    """Own code on the CPU is PYTHON where its function mostly holds the interpreter lock, NATIVE elsewhere."""
    running = running & (activity == Activity.NATIVE) & (functions >= 0)
    size = int(functions.max(initial=0)) + 1
    known = np.bincount(functions[running & (owns >= 0)], minlength=size)
    holds = np.bincount(functions[running & (owns == 1)], minlength=size)
    python = (known > 0) & (holds >= GLUE_PYTHON_SHARE * known)
    activity[running & python[functions] & (owns != 0)] = Activity.PYTHON


def _tell_gil_waits(
    window: Window,
    activity: Ints,
    active: npt.NDArray[np.int8],
    owns: npt.NDArray[np.int8],
    snapshot: Ints,
    candidate: Flags,
    doubtful: Flags,
    pids: Ints,
    tids: Ints,
) -> None:
    """A thread off the CPU that stands in no known wait, while another thread of its process owns the lock.

    ``doubtful`` samples could wait for something else: there the thread must also wake as often as the lock makes it.
    """
    owned = np.bincount(snapshot, weights=(owns == 1).astype(np.float64)) > 0
    waiting = candidate & (active == 0) & (owns != 1) & owned[snapshot]
    for pid, tid in _pairs(pids[waiting & doubtful], tids[waiting & doubtful]):
        if not main_thread_switches(window, pid, tid) >= GIL_SWITCHES_PER_SECOND:
            waiting &= ~(doubtful & (pids == pid) & (tids == tid))
    activity[waiting] = Activity.GIL_WAIT


def activity_counts(samples: Samples, chosen: Flags, weights: Floats, cells: int, activities: int) -> Floats:
    """Weighted number of the chosen samples: float64[activities, cells]."""
    flat = samples.activity[chosen] * cells + samples.cell[chosen]
    counts: Floats = np.zeros(activities * cells)
    np.add.at(counts, flat, weights[chosen])
    return counts.reshape(activities, cells)
