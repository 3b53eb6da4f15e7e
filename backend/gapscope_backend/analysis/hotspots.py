"""Hotspots: the functions and lines under which a cause's idle time fell."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from gapscope_backend.analysis.activity import HELPED, ON_CPU_WORK, Activity
from gapscope_backend.analysis.ledger import Entry
from gapscope_backend.analysis.samples import Flags, Samples
from gapscope_backend.analysis.verdict import Hotspot
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

TOP = 8
WAITS_FOR_OTHERS = HELPED | {Activity.LOADER_WAIT, Activity.GIL_WAIT}


def _other_workers(view: View, samples: Samples) -> Flags:
    """Samples of threads that compute while a feeding thread waits for somebody."""
    works = np.isin(samples.activity, sorted(ON_CPU_WORK)) & (samples.active != 0)
    others: Flags = works & ~view.host.feeders
    return others


def _sample_seconds(entry: Entry, samples: Samples, chosen: Flags, weight: Floats, per_cell: Floats) -> Floats:
    """Seconds of the cause that each chosen sample stands for: its cell's seconds shared by weight."""
    cells = per_cell.size
    total = np.bincount(samples.cell[chosen], weights=weight[chosen], minlength=cells)
    share = np.divide(per_cell, total, out=np.zeros(cells), where=total > 0)
    return np.where(chosen, weight * share[samples.cell], 0.0)


def _seconds_of_samples(view: View, entry: Entry, samples: Samples) -> Floats:
    seconds = np.zeros(samples.count)
    for activity in entry.cause.activities:
        per_cell = entry.idle.get(activity)
        if per_cell is None:
            continue
        if activity in WAITS_FOR_OTHERS:
            others = _other_workers(view, samples)
            if others.any():
                seconds += _sample_seconds(entry, samples, others, np.ones(samples.count), per_cell)
                continue
        chosen = view.host.feeders & (samples.activity == activity) & (view.host.weight > 0)
        seconds += _sample_seconds(entry, samples, chosen, view.host.weight, per_cell)
    return seconds


def find_hotspots(view: View, entry: Entry) -> tuple[Hotspot, ...]:
    """The functions with most of the cause's idle time, at their commonest line; empty without stacks."""
    samples = view.host.samples
    total = entry.idle_seconds
    if samples is None or total <= 0 or not entry.cause.activities:
        return ()
    seconds = _seconds_of_samples(view, entry, samples)
    groups: dict[tuple[str, str, int, int], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in np.flatnonzero(seconds > 0).tolist():
        stack = samples.source.stacks[int(samples.stack[row])]
        if stack:
            frame = samples.source.frames[stack[0]]
            key = (frame.function, frame.file, int(samples.pids[row]), int(samples.tids[row]))
            groups[key][stack[0]].append(float(seconds[row]))
    found = [_hotspot(samples, key, lines, total) for key, lines in groups.items()]
    return tuple(sorted(found, key=lambda spot: -spot.share)[:TOP])


def _hotspot(samples: Samples, key: tuple[str, str, int, int], lines: dict[int, list[float]], total: float) -> Hotspot:
    function, file, pid, tid = key
    frame = samples.source.frames[max(lines, key=lambda index: sum(lines[index]))]
    return Hotspot(
        function=function,
        file=file,
        line=frame.line,
        source=frame.source,
        share=min(1.0, sum(map(sum, lines.values())) / total),
        samples=sum(map(len, lines.values())),
        thread=samples.source.thread_names.get((pid, tid), ""),
        pid=pid,
    )
