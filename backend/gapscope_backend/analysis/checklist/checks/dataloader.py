"""DataLoader workers: enough of them, and no more than there are cores."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.checklist.check import Check, line, unseen
from gapscope_backend.analysis.checklist.facts import Facts, judge
from gapscope_backend.analysis.checklist.model import FAIL, PASS, WARN, Line
from gapscope_backend.analysis.counters import held_cells
from gapscope_backend.analysis.cpu import LOADER_THREAD
from gapscope_backend.analysis.frames import library_path
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE
from gapscope_backend.analysis.window import Window

ID, TITLE = "dataloader", Text("DataLoader workers sensible")
LOADER_FILES = ("torch/utils/data/", "webdataset/", "streaming/base/")
TOO_MANY = Text("Use fewer workers than cores: they take the CPU from each other.")
WORKER_FILE = "torch/utils/data/_utils/worker.py"
NO_LOADER = Text("No DataLoader was seen; nothing to judge where there is none.")
NO_STACKS = Text("No stacks, and no DataLoader workers seen; nothing to judge where there is none.")
BUSY_WORKER_CORES = 0.8
"""A worker that uses this much of a core has no time left; more workers help."""
_make = line(ID, TITLE)


def _pids_with(window: Window, *paths: str) -> set[int]:
    """Processes with a frame of these files on a stack."""
    stacks = window.stacks
    if stacks is None:
        return set()
    frames = np.array([library_path(frame.file).startswith(paths) for frame in stacks.frames], dtype=bool)
    hit = np.array([bool(frames[list(stack)].any()) if stack else False for stack in stacks.stacks], dtype=bool)
    return set(np.unique(stacks.pids[hit[stacks.stack]]).tolist()) if hit.size else set()


def find_workers(window: Window) -> tuple[int, ...]:
    """Worker processes: their main thread's name, or the worker's loop on their stacks."""
    named = {p.pid for p in window.processes if LOADER_THREAD in p.threads.values()}
    holders = {pid for gpu in window.gpus for pid in gpu.owners}
    return tuple(sorted((named | _pids_with(window, WORKER_FILE)) - holders))


def _cores(window: Window, pid: int) -> float | None:
    cells = held_cells(window, f"process:{pid}", "process_cpu_cores")
    return None if np.isnan(cells).all() else float(np.nanmean(cells))


def _advice(facts: Facts, workers: int, cores: float | None) -> Text:
    free = facts.window.logical_cpus
    room = Text("up to the {cores} cores of this host, shared by all its trainers", cores=free)
    if workers == 0:
        return Text("Set num_workers ({room}), persistent_workers=True and pin_memory=True.", room=room)
    if cores is not None and cores >= BUSY_WORKER_CORES and workers < free:
        return Text(
            "The workers are busy all the time: raise num_workers from {workers} ({room}), or make them cheaper.",
            workers=workers,
            room=room,
        )
    return Text(
        "The workers themselves wait: look at their storage, prefetch_factor, and the size of what they hand over."
    )


def _rule(facts: Facts) -> Line:
    window = facts.window
    workers = find_workers(window)
    loads = _pids_with(window, *LOADER_FILES)
    waits = max((facts.share(view, "dataloader_starved") for view in facts.views), default=0.0)
    if not workers and not loads and judge(waits) == PASS:
        return unseen(ID, TITLE, NO_STACKS if window.stacks is None else NO_LOADER)
    busy = [cores for pid in workers if (cores := _cores(window, pid)) is not None]
    mean = sum(busy) / len(busy) if busy else None
    told = Text("{workers} workers on {cores} cores", workers=len(workers), cores=window.logical_cpus)
    figure = Text(
        "{told}{each}; the trainer waits {share:.0%} of the time for batches.",
        told=told if workers else Text("No workers (num_workers=0)"),
        each=NONE if mean is None else Text(", each using {cores:.2f} of a core", cores=mean),
        share=waits,
    )
    status = judge(waits)
    if status == PASS and len(workers) > window.logical_cpus:
        return _make(WARN, figure, TOO_MANY, waits, "ratio")
    return _make(status, figure, _advice(facts, len(workers), mean) if status in (FAIL, WARN) else NONE, waits, "ratio")


CHECK = Check(ID, TITLE, _rule)
