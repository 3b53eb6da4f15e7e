"""What the host did in each cell's idle time, as shares by activity.

A thread that waits in synchronize while the GPU works is not the reason for idle time. So in cells of like graphics
active (ten levels), waits for the GPU first use up the busy share; what is left over explains the idle share.
Cells without a sample near by are not covered: there the counters alone must answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gapscope_backend.analysis.activity import ACTIVITY_COUNT, ON_CPU_WORK, Activity, is_one_of
from gapscope_backend.analysis.counters import around, ratio
from gapscope_backend.analysis.cpu import CpuAround
from gapscope_backend.analysis.feeders import feeder_flags, leading
from gapscope_backend.analysis.samples import Flags, Samples, activity_counts
from gapscope_backend.analysis.window import Floats, Gpu, Ints

LEVELS = 10
NEAR_CELLS = 5
"""A sample speaks for cells up to half a second away; stacks are taken in bursts of seconds at 10 to 20 Hz."""
POOL_WEIGHT = 0.5
"""Weight of the cells around, in samples: it decides only where a cell has less than one sample of its own."""
BUSY_CHILD_CORES = 0.5
"""Children that together use half a core or more are computing, not idling (an idle worker uses under 0.02)."""
WAITS_FOR_GPU = (Activity.DEVICE_WAIT, Activity.SYNC, Activity.COLLECTIVE, Activity.COPY)
"""A copy that the thread waits for begins when the work queued before it has ended."""


@dataclass(frozen=True)
class HostSide:
    """``share`` float64[activities, cells]: parts of each cell's idle time, summing to 1; UNSEEN where not covered.

    ``weight`` float64[samples] is what is left of each sample after waits for the GPU have used up busy time;
    ``feeders`` marks the samples of feeding threads. ``sample_count`` counts those samples, ``counts``
    float64[activities, cells] without weights.
    """

    samples: Samples | None
    feeders: Flags
    weight: Floats
    share: Floats
    sample_count: int
    counts: Floats

    def near(self, *activities: Activity) -> Floats:
        """Share of the feeding threads' samples around each cell, busy time of the GPU included; 0 without samples."""
        return ratio(around(self.counts[list(activities)].sum(axis=0)), around(self.counts.sum(axis=0)))


def _levels(graphics: Floats) -> Ints:
    level: Ints = np.clip((np.nan_to_num(graphics) * LEVELS).astype(np.int64), 0, LEVELS - 1)
    return level


def _in_same_snapshot(samples: Samples, others: Flags) -> Flags:
    """True for samples of snapshots in which some sample is one of ``others``."""
    found: Flags = (np.bincount(samples.snapshot, weights=others.astype(np.float64)) > 0)[samples.snapshot]
    return found


def _explain_queue_waits(samples: Samples, feeders: Flags, cpu: CpuAround, owners: tuple[int, ...]) -> Ints:
    """Queue waits are for whoever fills the queue: a thread that computes or reads, or child processes that compute."""
    activity: Ints = samples.activity.copy()
    others = ~feeders & np.isin(samples.pids, owners)
    works = is_one_of(activity, ON_CPU_WORK) & (samples.active == 1) & others
    waits = feeders & (activity == Activity.QUEUE_WAIT)
    activity[waits & _in_same_snapshot(samples, samples.reads & others)] = Activity.PRODUCER_READS
    activity[waits & _in_same_snapshot(samples, works)] = Activity.PRODUCER_BUSY
    children = np.nan_to_num(cpu.children)[samples.cell] >= BUSY_CHILD_CORES
    activity[waits & (activity == Activity.QUEUE_WAIT) & children] = Activity.CHILD_BUSY
    return activity


def _weights(activity: Ints, cell: Ints, chosen: Flags, graphics: Floats) -> Floats:
    """1 per sample; waits for the GPU are reduced by the busy share of cells of the same level."""
    weight = np.ones(activity.size)
    level = _levels(graphics)[cell]
    waits = chosen & is_one_of(activity, WAITS_FOR_GPU)
    for one in np.unique(level[chosen]):
        here = chosen & (level == one)
        waiting = float((here & waits).sum()) / float(here.sum())
        busy = float(np.nanmean(graphics[cell[here]])) if not np.isnan(graphics[cell[here]]).all() else 0.0
        if waiting > 0:
            weight[here & waits] = max(0.0, waiting - busy) / waiting
    return weight


def _shares(counts: Floats, graphics: Floats) -> Floats:
    """Normalise counts per cell, together with a little of the cells around it that are as busy.

    Without the latter, a cell whose one sample is a wait that the GPU's work explains all but wholly would put all of
    its idle time on what is left of that wait. A cell near samples but without weight of its own takes those of cells
    as busy anywhere.
    """
    sampled = counts.sum(axis=0) > 0
    near = np.convolve(sampled, np.ones(2 * NEAR_CELLS + 1))[NEAR_CELLS:][: sampled.size] > 0
    level = _levels(graphics)
    share = np.zeros_like(counts)
    for one in np.unique(level):
        here = level == one
        present = np.flatnonzero(counts[:, here].any(axis=1))
        if not present.size:
            continue
        local = around(np.where(here, counts[present], 0.0))[:, here]
        pool = local / np.maximum(local.sum(axis=0), 1e-12)
        own = counts[np.ix_(present, here)] + POOL_WEIGHT * pool
        everywhere = counts[present][:, here].sum(axis=1)[:, None] / counts[:, here].sum()
        known = own.sum(axis=0) > 0
        part = np.where(known, own / np.where(known, own.sum(axis=0), 1.0), everywhere)
        share[np.ix_(present, here)] = np.where(near[here], part, 0.0)
    share[Activity.UNSEEN] = np.where(share.sum(axis=0) > 0, 0.0, 1.0)
    return share


def _unseen(cells: int) -> HostSide:
    share = np.zeros((ACTIVITY_COUNT, cells))
    share[Activity.UNSEEN] = 1.0
    return HostSide(None, np.zeros(0, dtype=bool), np.zeros(0), share, 0, np.zeros((ACTIVITY_COUNT, cells)))


def read_host_side(
    samples: Samples | None, gpu: Gpu, graphics: Floats, cpu: CpuAround, foreign: frozenset[int] = frozenset()
) -> HostSide:
    """Host side of ``gpu``; all UNSEEN where no feeding thread was sampled. ``foreign`` owners hold other GPUs only."""
    if samples is None or not graphics.size:
        return _unseen(graphics.size)
    if foreign:
        samples = samples.of_processes(~np.isin(samples.pids, sorted(foreign)))
    feeders = feeder_flags(samples, gpu.owners)
    if not feeders.any():
        return _unseen(graphics.size)
    activity = _explain_queue_waits(samples, feeders, cpu, gpu.owners)
    samples = replace(samples, activity=activity)
    chosen = leading(samples, feeders)
    weight = np.where(chosen, _weights(activity, samples.cell, chosen, graphics), 0.0)
    counts = activity_counts(samples, chosen, weight, graphics.size, ACTIVITY_COUNT)
    raw = activity_counts(samples, chosen, np.ones(samples.count), graphics.size, ACTIVITY_COUNT)
    return HostSide(samples, feeders, weight, _shares(counts, graphics), int(chosen.sum()), raw)
