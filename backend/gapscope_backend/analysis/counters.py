"""What the GPU's counters say in each 100 ms cell, with slower data spread over the time that it describes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapscope_backend.analysis.window import CELL_NS, Floats, Gpu, Window

GRAPHICS_SOURCES = ("gpu_graphics_active_ratio", "gpu_utilization_fine_ratio", "gpu_utilization_ratio")
"""Where the time level comes from, best first. The last two count copies as work and are renewed every 200 ms."""

LONGEST_HOLD_CELLS = 600
"""A series slower than once a minute is not spread over cells: too much can happen in between."""

GENERATION_BYTES_PER_LANE = {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.969e9, 5: 3.938e9, 6: 7.563e9}
"""PCIe payload bandwidth per lane and direction after line coding (PCI-SIG)."""


@dataclass(frozen=True)
class Counters:
    """Cells of one GPU, float64[cells] in 0..1 (``rx``, ``tx`` in bytes/s), NaN where nothing is known.

    ``graphics`` comes from ``source``, one of ``GRAPHICS_SOURCES``; ``exact`` is true for the hardware counter.
    """

    graphics: Floats
    source: str
    exact: bool
    utilization: Floats
    sm: Floats
    occupancy: Floats
    tensor: Floats
    fp32: Floats
    fp64: Floats
    fp16: Floats
    integer: Floats
    dram: Floats
    rx: Floats
    tx: Floats
    power: Floats
    clock: Floats
    reasons: Floats
    memory: Floats

    def while_busy(self, values: Floats) -> Floats:
        """``values`` over the time in which the GPU was active, at most 1: what the work itself looks like."""
        out = np.full(values.shape, np.nan)
        np.divide(values, self.graphics, out=out, where=self.graphics > 0)
        np.minimum(out, 1.0, out=out)
        return out


AROUND_CELLS = 25
"""Judgements on how a program works hold for 2.5 s to either side: enough samples for a share, short against its
phases."""


def around(cells: Floats) -> Floats:
    """Sum over the cells (last axis) within ``AROUND_CELLS`` of each; NaN counts as 0."""
    size, first = cells.shape[-1], AROUND_CELLS + 1
    total = np.zeros((*cells.shape[:-1], size + 2 * AROUND_CELLS + 1))
    if size:
        np.cumsum(np.where(np.isnan(cells), 0.0, cells), axis=-1, out=total[..., first : first + size])
        total[..., first + size :] = total[..., first + size - 1, None]
    sums: Floats = total[..., 2 * AROUND_CELLS + 1 :] - total[..., :size]
    return sums


def ratio(over: Floats, under: Floats) -> Floats:
    """``over / under``, 0 where there is nothing below the line."""
    return np.divide(over, under, out=np.zeros(over.size), where=under > 1e-12)


SLOW_CELLS = 3
ONE_LOST = 2.2
"""Of slow series one sample may be lost: rates are reckoned since the last one that arrived, so the next one speaks
for that time, too."""
BRIDGED_CELLS = 2
"""So many cells without a value are bridged where the time level is known: one lost reading of a 100 ms counter."""


def bridge(cells: Floats) -> Floats:
    """Short holes filled from both sides; longer ones and those at the ends stay."""
    known = np.flatnonzero(~np.isnan(cells))
    if known.size < 2 or known.size == cells.size:
        return cells
    holes = np.diff(known) - 1
    between = np.searchsorted(known, np.arange(cells.size), side="right") - 1
    inside = (between >= 0) & (between < known.size - 1) & np.isnan(cells)
    short = np.zeros(cells.size, dtype=bool)
    short[inside] = holes[between[inside]] <= BRIDGED_CELLS
    out: Floats = cells.copy()
    out[short] = np.interp(np.flatnonzero(short), known, cells[known])
    return out


def hold(cells: Floats, period_cells: float) -> Floats:
    """Give each empty cell the value of the next sample when that sample's interval reaches back to it."""
    slack = ONE_LOST if period_cells >= SLOW_CELLS else 1.2
    reach = min(round(period_cells * slack) - 1, LONGEST_HOLD_CELLS)
    if reach < 1 or not cells.size:
        return cells
    known = ~np.isnan(cells)
    index = np.where(known, np.arange(cells.size), cells.size)
    following = np.minimum.accumulate(index[::-1])[::-1]
    near = (following < cells.size) & (following - np.arange(cells.size) <= reach)
    out: Floats = cells.copy()
    out[near] = cells[following[near]]
    return out


def held_cells(window: Window, entity: str, metric: str, lag_ns: int = 0) -> Floats:
    """Cells of a series whose samples each describe the time since the one before (1 Hz data fills ten cells)."""
    series = window.series.get((entity, metric))
    cells = window.cells(entity, metric, lag_ns)
    if series is None or series.times.size < 3:
        return cells
    period = float(np.median(np.diff(series.times))) / CELL_NS
    return hold(cells, period)


def link_bytes_per_second(gpu: Gpu) -> float:
    """Payload bandwidth of the GPU's PCIe link in one direction; 16 lanes of generation 4 where it is unknown."""
    lane = GENERATION_BYTES_PER_LANE.get(gpu.pcie_generation or 4, GENERATION_BYTES_PER_LANE[6])
    return lane * (gpu.pcie_width or 16)


def read_counters(window: Window, gpu: Gpu) -> Counters:
    """Counters of ``gpu``, lag taken out. Where the hardware counter has no value at all, the driver's stand in."""

    def lagged(metric: str) -> Floats:
        return bridge(held_cells(window, gpu.key, metric, gpu.counter_lag_ns))

    def plain(metric: str) -> Floats:
        return bridge(held_cells(window, gpu.key, metric))

    source = next((s for s in GRAPHICS_SOURCES if not np.isnan(plain(s)).all()), GRAPHICS_SOURCES[0])
    exact = source == GRAPHICS_SOURCES[0]
    graphics = held_cells(window, gpu.key, source, gpu.counter_lag_ns if exact else 0)
    return Counters(
        graphics=np.clip(graphics, 0.0, 1.0),
        source=source,
        exact=exact,
        utilization=plain("gpu_utilization_ratio"),
        sm=lagged("gpu_sm_active_ratio"),
        occupancy=lagged("gpu_sm_occupancy_ratio"),
        tensor=lagged("gpu_tensor_active_ratio"),
        fp32=lagged("gpu_fp32_active_ratio"),
        fp64=lagged("gpu_fp64_active_ratio"),
        fp16=lagged("gpu_fp16_active_ratio"),
        integer=lagged("gpu_integer_active_ratio"),
        dram=lagged("gpu_dram_active_ratio"),
        rx=lagged("pcie_rx_bytes_per_second"),
        tx=lagged("pcie_tx_bytes_per_second"),
        power=plain("gpu_power_watts"),
        clock=plain("gpu_sm_clock_hertz"),
        reasons=plain("gpu_clocks_event_reasons_code"),
        memory=plain("gpu_memory_used_bytes"),
    )
