"""View: everything that a cause may look at for one GPU, computed once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.counters import Counters, around, ratio, read_counters
from gapscope_backend.analysis.cpu import CpuAround, read_cpu
from gapscope_backend.analysis.gaps import Flags, runs
from gapscope_backend.analysis.host_side import HostSide, read_host_side
from gapscope_backend.analysis.samples import read_samples
from gapscope_backend.analysis.window import CELL_NS, Floats, Gpu, Window

QUIET_RATIO = 0.01
"""Graphics active below this is nothing: the counter's own step is 0.01 percent, a 1 ms kernel in 100 ms is 0.01."""
QUIET_RUN_CELLS = 5
"""Nothing for half a second is a pause (Nsight Systems' default for a long idle gap), less is waiting between work."""


@dataclass(frozen=True)
class View:
    """One GPU of a window. ``idle`` and ``busy`` are seconds per cell; cells without data have neither."""

    window: Window
    gpu: Gpu
    counters: Counters
    cpu: CpuAround
    host: HostSide
    seconds: Floats
    peers: tuple[View, ...] = field(default=(), compare=False)

    @cached_property
    def known(self) -> Flags:
        """Cells with a value of the time level."""
        return ~np.isnan(self.counters.graphics)

    @cached_property
    def idle(self) -> Floats:
        """Seconds in which the GPU did not work, per cell; 0 where unknown."""
        return np.where(self.known, (1.0 - np.nan_to_num(self.counters.graphics)) * self.seconds, 0.0)

    @cached_property
    def busy(self) -> Floats:
        """Seconds in which the GPU worked, per cell; 0 where unknown."""
        return np.where(self.known, np.nan_to_num(self.counters.graphics) * self.seconds, 0.0)

    @cached_property
    def quiet(self) -> Flags:
        """Cells of pauses of half a second and longer, with the cells in which they begin and end."""
        still = self.known & (np.nan_to_num(self.counters.graphics) < QUIET_RATIO)
        flags = np.zeros(still.size, dtype=bool)
        for start, stop in runs(still):
            if stop - start >= QUIET_RUN_CELLS:
                flags[max(0, start - 1) : stop + 1] = True
        return flags

    @cached_property
    def filling(self) -> float | None:
        """SM active over graphics active, weighted by busy time."""
        return self.mean(self.counters.while_busy(self.counters.sm), self.busy)

    @cached_property
    def useful_pipes(self) -> float | None:
        """Mean activity of tensor and FP pipes: the work done, whatever the time that it took."""
        c = self.counters
        means = [mean for mean in (self.mean(pipe) for pipe in (c.tensor, c.fp32, c.fp64, c.fp16)) if mean is not None]
        return sum(means) if means else None

    @cached_property
    def active(self) -> float | None:
        """Mean graphics active."""
        return self.mean(self.counters.graphics)

    def mean(self, values: Floats, weights: Floats | None = None) -> float | None:
        """Mean over the cells that have a value, weighted; None where none has."""
        missing = np.isnan(values)
        w = np.where(missing, 0.0, self.seconds if weights is None else weights)
        total = float(w.sum())
        return float(np.dot(np.where(missing, 0.0, values), w)) / total if total > 0 else None

    def near_activity(self, *activities: Activity) -> Floats:
        """Idle-weighted share of the activities around each cell."""
        idle = self.idle
        return ratio(around(self.host.share[list(activities)].sum(axis=0) * idle), around(idle))

    def near_mean(self, values: Floats) -> Floats:
        """Mean around each cell, of the cells that have a value."""
        return ratio(around(values), around((~np.isnan(values)).astype(np.float64)))

    def mean_activity(self, *activities: Activity) -> float:
        """Idle-weighted share of the activities over the window."""
        idle = self.idle
        total = float(idle.sum())
        return float((self.host.share[list(activities)].sum(axis=0) * idle).sum()) / total if total > 0 else 0.0


def _cell_seconds(window: Window) -> Floats:
    seconds = np.full(window.cell_count, CELL_NS / 1e9)
    if seconds.size:
        seconds[-1] = (window.end_ns - window.start_ns) / 1e9 - (seconds.size - 1) * CELL_NS / 1e9
    return seconds


def read_views(window: Window) -> tuple[View, ...]:
    """Views of all GPUs of the window, each knowing the others as its peers."""
    samples = read_samples(window)
    seconds = _cell_seconds(window)
    alone = []
    for gpu in window.gpus:
        counters, cpu = read_counters(window, gpu), read_cpu(window, gpu)
        foreign = frozenset(pid for other in window.gpus for pid in other.owners if pid not in gpu.owners)
        host = read_host_side(samples, gpu, counters.graphics, cpu, foreign)
        alone.append(View(window, gpu, counters, cpu, host, seconds))
    return tuple(
        View(v.window, v.gpu, v.counters, v.cpu, v.host, v.seconds, tuple(o for o in alone if o is not v))
        for v in alone
    )
