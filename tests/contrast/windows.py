"""Windows made by hand: one GPU held by pid 10, whose one thread stands in one of a few functions in each snapshot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gapscope_backend.analysis.window import Floats, Frame, Gpu, Ints, Process, Series, StackSamples, Window

START = 1_790_000_000_000_000_000
CELL = 100_000_000
PER_CELL = 2
ROOT = Frame("main", "job.py", 1)


def series(values: Sequence[float] | Floats) -> Series:
    column = np.asarray(values, dtype=np.float64)
    return Series(START + CELL * (1 + np.arange(column.size, dtype=np.int64)), column)


def snapshots(functions: Ints, names: Sequence[str]) -> StackSamples:
    """``functions`` int64[cells * PER_CELL]: which of ``names`` is innermost, under ``main``."""
    n = functions.size
    frames = (ROOT, *(Frame(name, "job.py", 10 + place, f"{name}()") for place, name in enumerate(names)))
    return StackSamples(
        times=START + CELL // 4 + CELL // PER_CELL * np.arange(n, dtype=np.int64),
        pids=np.full(n, 10),
        tids=np.full(n, 10),
        active=np.ones(n, dtype=np.int8),
        owns_gil=np.zeros(n, dtype=np.int8),
        stack=functions.astype(np.int64),
        stacks=tuple((1 + place, 0) for place in range(len(names))),
        frames=frames,
        thread_names={(10, 10): "MainThread"},
    )


def window(graphics: Floats, stacks: StackSamples | None = None, **metrics: Floats) -> Window:
    """``metrics`` are series of the host."""
    found = {("gpu:a", "gpu_graphics_active_ratio"): series(graphics)}
    found |= {("host", name): series(values) for name, values in metrics.items()}
    return Window(
        host="h",
        start_ns=START,
        end_ns=START + CELL * graphics.size,
        logical_cpus=8,
        gpus=(Gpu("gpu:a", 0, "GPU", (10,)),),
        processes=(Process(10, 1, "job"),),
        series=found,
        stacks=stacks,
    )


def on_off(random: np.random.Generator, cells: int, mean_run: float) -> Floats:
    """A signal that is 0 or 1 in runs of random lengths."""
    flips = random.random(cells) < 1.0 / mean_run
    return (np.cumsum(flips) % 2).astype(np.float64)
