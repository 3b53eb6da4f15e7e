"""Window: the arrays of one host between two times. The second seam of the design.

Live, stored and replayed data all become a Window and the analysis sees nothing else: no clock, no SQL, no HTTP.
Times are int64 nanoseconds since the epoch; values float64 with NaN for "no value" (the reason stands in the store,
not here). Hardware-counter series keep the times they were read at; ``Gpu.counter_lag_ns`` says how much earlier
their 100 ms cells ended, and ``cells`` takes that out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

CELL_NS = 100_000_000
LAG_METRIC = "gpu_counter_lag_seconds"
ASSUMED_LAG_NS = 85_000_000
"""Lag of hardware counters where none could be estimated: the middle of the 50 to 120 ms that were seen on H200s."""
PHASE_SAMPLES = 200
"""So many samples of a series tell its phase against the cells."""
LAGGED_SUFFIXES = ("_active_ratio", "_occupancy_ratio")
LAGGED_PREFIXES = ("pcie_rx", "pcie_tx", "nvlink_rx", "nvlink_tx")

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """Samples of one metric of one entity: ``times`` int64[n] ascending, ``values`` float64[n], NaN is missing."""

    times: Ints
    values: Floats


def estimated_lag_ns(series: Series | None) -> int | None:
    """Median of the agent's estimates (``LAG_METRIC``); None where the data allowed none."""
    known = np.empty(0) if series is None else series.values[~np.isnan(series.values)]
    return round(float(np.median(known)) * 1e9) if known.size else None


@dataclass(frozen=True)
class Gpu:
    """Facts of one GPU; ``key`` is its entity key, ``owners`` the pids seen holding a context in the window.

    ``counter_lag_ns`` is an assumption unless ``lag_estimated``.
    ``cpu_affinity`` lists the CPUs on the GPU's own socket as the kernel writes such lists (``0-15,32-47``).
    """

    key: str
    index: int
    name: str
    owners: tuple[int, ...] = ()
    power_limit_watts: float | None = None
    max_sm_clock_hertz: float | None = None
    pcie_generation: int | None = None
    pcie_width: int | None = None
    counter_lag_ns: int = 0
    cpu_affinity: str | None = None
    memory_total_bytes: float | None = None
    lag_estimated: bool = False


@dataclass(frozen=True)
class Process:
    """Facts of one process of the tree around the GPU's owners; ``threads`` maps tid to name."""

    pid: int
    parent_pid: int
    command: str
    threads: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Frame:
    """One Python frame; ``source`` is the text of the line where it could be read."""

    function: str
    file: str
    line: int
    source: str | None = None


@dataclass(frozen=True)
class StackSamples:
    """Thread stacks in columns, one row a thread and moment, ascending in time.

    ``times`` int64[n]; ``pids``, ``tids`` int64[n]; ``active`` and ``owns_gil`` int8[n]: 1 yes, 0 no, -1 unknown;
    ``stack`` int64[n] indexes ``stacks``, each a tuple of indices into ``frames``, innermost first.
    """

    times: Ints
    pids: Ints
    tids: Ints
    active: npt.NDArray[np.int8]
    owns_gil: npt.NDArray[np.int8]
    stack: Ints
    stacks: tuple[tuple[int, ...], ...]
    frames: tuple[Frame, ...]
    thread_names: Mapping[tuple[int, int], str] = field(default_factory=dict)


def _off_middle(middles: Ints) -> int:
    """How far, on circular average, samples that come about once a cell lie from the middle of cells (ns)."""
    some = middles[:: max(1, middles.size // PHASE_SAMPLES)]
    if some.size < 3 or not 0.7 * CELL_NS <= float(np.median(np.diff(middles))) <= 1.3 * CELL_NS:
        return 0
    turns = np.exp(2j * np.pi * ((some % CELL_NS) / CELL_NS - 0.5)).mean()
    return round(float(np.angle(turns)) / (2 * np.pi) * CELL_NS)


@dataclass(frozen=True)
class Window:
    """One host from ``start_ns`` to ``end_ns`` (half-open). ``series`` is keyed by (entity key, metric name).

    ``measured`` is False where there is no data at all of the host in that time.
    """

    host: str
    start_ns: int
    end_ns: int
    logical_cpus: int
    gpus: tuple[Gpu, ...]
    processes: tuple[Process, ...]
    series: Mapping[tuple[str, str], Series]
    stacks: StackSamples | None = None
    measured: bool = True

    @property
    def seconds(self) -> float:
        """Length of the window in seconds."""
        return (self.end_ns - self.start_ns) / 1e9

    @property
    def cell_count(self) -> int:
        """Number of 100 ms cells; the last one may reach past the end."""
        return max(0, -(-(self.end_ns - self.start_ns) // CELL_NS))

    def cells(self, entity: str, metric: str, lag_ns: int = 0) -> Floats:
        """Mean of the samples in each cell: float64[cell_count], NaN where a cell has none.

        A sample read at ``t`` describes the interval that ended at ``t - lag_ns``; it falls into the cell that
        holds the middle of that interval (half a cell before its end). Samples that come once a cell are first moved
        by less than half a cell so that their middles lie in the middle of cells: at the border between two, jitter
        would put two samples into one cell and none into the next.
        """
        out = np.full(self.cell_count, np.nan)
        series = self.series.get((entity, metric))
        if series is None or not out.size:
            return out
        middles = series.times - lag_ns - CELL_NS // 2 - self.start_ns
        at = (middles - _off_middle(middles)) // CELL_NS
        good = (at >= 0) & (at < out.size) & ~np.isnan(series.values)
        total = np.bincount(at[good], weights=series.values[good], minlength=out.size)
        count = np.bincount(at[good], minlength=out.size)
        np.divide(total, count, out=out, where=count > 0)
        return out

    def gpu_cells(self, gpu: Gpu, metric: str) -> Floats:
        """``cells`` of a GPU's series with the counters' lag taken out where the metric is a hardware counter."""
        lagged = metric.endswith(LAGGED_SUFFIXES) or metric.startswith(LAGGED_PREFIXES)
        return self.cells(gpu.key, metric, gpu.counter_lag_ns if lagged else 0)
