"""Hotspots: the functions and lines under which a cause's idle time fell."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from gapscope_backend.analysis.activity import HELPED, ON_CPU_WORK, Activity, is_one_of
from gapscope_backend.analysis.ledger import Entry
from gapscope_backend.analysis.samples import Flags, Samples
from gapscope_backend.analysis.verdict import Hotspot
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

TOP = 8
WAITS_FOR_OTHERS = HELPED | {Activity.LOADER_WAIT, Activity.GIL_WAIT}


def _other_workers(view: View, samples: Samples) -> Flags:
    """Samples of threads that compute while a feeding thread waits for somebody."""
    works = is_one_of(samples.activity, ON_CPU_WORK) & (samples.active != 0)
    others: Flags = works & ~view.host.feeders
    return others


def _sample_seconds(entry: Entry, samples: Samples, chosen: Flags, weight: Floats, per_cell: Floats) -> Floats:
    """Seconds of the cause that each chosen sample stands for: its cell's seconds shared by weight."""
    cells = per_cell.size
    rows = np.flatnonzero(chosen)
    total = np.bincount(samples.cell[rows], weights=weight[rows], minlength=cells)
    share = np.divide(per_cell, total, out=np.zeros(cells), where=total > 0)
    seconds: Floats = np.zeros(samples.count)
    seconds[rows] = weight[rows] * share[samples.cell[rows]]
    return seconds


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
    rows = np.flatnonzero(seconds > 0)
    first = np.array([stack[0] if stack else -1 for stack in samples.source.stacks], dtype=np.int64)
    rows = rows[first[samples.stack[rows]] >= 0]
    if not rows.size:
        return ()
    number, one_of = samples.threads
    keys, inverse = np.unique(first[samples.stack[rows]] * one_of.size + number[rows], return_inverse=True)
    spent, counts = np.bincount(inverse, weights=seconds[rows]), np.bincount(inverse)
    groups: dict[tuple[str, str, int, int], list[tuple[int, float, int]]] = defaultdict(list)
    for key, time, count in zip(keys.tolist(), spent.tolist(), counts.tolist(), strict=True):
        frame, sample = key // one_of.size, int(one_of[key % one_of.size])
        at, pid, tid = samples.source.frames[frame], int(samples.pids[sample]), int(samples.tids[sample])
        groups[at.function, at.file, pid, tid].append((frame, time, count))
    found = [_hotspot(samples, key, lines, total) for key, lines in groups.items()]
    return tuple(sorted(found, key=lambda spot: -spot.share)[:TOP])


def _hotspot(
    samples: Samples, key: tuple[str, str, int, int], lines: list[tuple[int, float, int]], total: float
) -> Hotspot:
    function, file, pid, tid = key
    frame = samples.source.frames[max(lines, key=lambda line: line[1])[0]]
    return Hotspot(
        function=function,
        file=file,
        line=frame.line,
        source=frame.source,
        share=min(1.0, sum(time for _, time, _ in lines) / total),
        samples=sum(count for _, _, count in lines),
        thread=samples.source.thread_names.get((pid, tid), ""),
        pid=pid,
    )
