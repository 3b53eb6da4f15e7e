"""The answer to "what differs?" as plain data; ``explain --what-differs --json`` and the API give it out."""

from __future__ import annotations

from dataclasses import dataclass

from gapscope_backend.analysis.language import Text


@dataclass(frozen=True)
class IdleHotspot:
    """A function under which the GPU idled: GPU-seconds, their share of all idle time, samples, the ledger's row."""

    function: str
    file: str
    line: int
    source: str | None
    idle_gpu_seconds: float
    share: float
    samples: int
    thread: str
    pid: int
    cause: str


@dataclass(frozen=True)
class Difference:
    """One thing on both sides of the split. ``kind`` is function, line, thread, process or metric.

    ``in_gaps`` and ``in_rest`` are shares of stack snapshots (``unit`` "ratio") with the thing on a stack (functions,
    lines) or on a CPU (threads, processes), or means of a metric in its unit. ``*_count`` of ``*_total`` are the
    snapshots (metrics: cells) behind them, each weighted by how far its cell belongs to that side.
    ``effect`` is the size of the difference: Cohen's h for shares, standard deviations of the series for metrics.
    ``p_value`` is adjusted for everything that was compared; None where the window is too short to test.
    ``follows`` marks the GPU's own counters, which differ because the split is made by one of them.
    ``also`` names other functions that occur in exactly the same snapshots, such as callers.
    """

    kind: str
    name: str
    detail: str
    unit: str
    in_gaps: float
    in_rest: float
    effect: float
    gap_count: float
    gap_total: float
    rest_count: float
    rest_total: float
    p_value: float | None
    significant: bool
    follows: bool = False
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contrast:
    """Gap against rest of one GPU. Without ``has_contrast`` only the hotspots speak, and ``sentence`` says so.

    ``split`` is ``idle_share`` (each cell counts to both sides by its shares) or ``spans`` (the user's against the
    rest). ``idlest`` and ``busiest`` are graphics active of the cells at the 2nd and 98th percentile.
    ``level`` is the chance of any false finding in all lists together; ``blocks`` of ``block_cells`` cells of 100 ms
    were permuted for it (0 where the window is too short to test).
    """

    host: str
    gpu: str
    index: int
    start_ns: int
    end_ns: int
    split: str
    has_contrast: bool
    sentence: Text
    idlest: float | None
    busiest: float | None
    idle_gpu_seconds: float
    level: float
    blocks: int
    block_cells: int
    hotspots: tuple[IdleHotspot, ...]
    functions: tuple[Difference, ...] = ()
    lines: tuple[Difference, ...] = ()
    threads: tuple[Difference, ...] = ()
    processes: tuple[Difference, ...] = ()
    metrics: tuple[Difference, ...] = ()
