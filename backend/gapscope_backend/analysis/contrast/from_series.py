"""Table of metrics: every series of the window, in cells, with the counters' lag taken out."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.contrast.table import Item, Table
from gapscope_backend.analysis.counters import held_cells
from gapscope_backend.analysis.window import LAGGED_PREFIXES, LAGGED_SUFFIXES, Floats, Gpu, Window

CODES = ("_code", "_index", "_generation", "_width_lanes", "_lag_seconds")
"""Numbers whose mean means nothing, and facts about the measuring itself."""
FEWEST_CELLS = 20


def _unit(metric: str) -> str:
    endings = {
        "_bytes_per_second": "bytes/s",
        "_switches_per_second": "switches/s",
        "_ratio": "ratio",
        "_watts": "watts",
        "_bytes": "bytes",
        "_cores": "cores",
        "_hertz": "hertz",
        "_celsius": "celsius",
        "_seconds": "seconds",
    }
    return next((unit for ending, unit in endings.items() if metric.endswith(ending)), "")


def _about(window: Window, entity: str) -> str:
    """Whom an entity's key means, where that is known: a process by its command, a thread by its name."""
    kind, _, rest = entity.partition(":")
    pid, _, tid = rest.partition("/")
    process = next((p for p in window.processes if str(p.pid) == pid), None)
    if kind == "gpu":
        return next((f"GPU {gpu.index}" for gpu in window.gpus if gpu.key == entity), "")
    if process is None:
        return ""
    return process.threads.get(int(tid), "") if kind == "thread" and tid.isdecimal() else process.command


def metric_table(window: Window, gpu: Gpu) -> Table:
    """Series with values in enough cells and any variation; the GPU's own counters are marked as following."""
    lags = {other.key: other.counter_lag_ns for other in window.gpus}
    items, rows = [], []
    for entity, metric in sorted(window.series):
        if metric.endswith(CODES):
            continue
        lagged = metric.endswith(LAGGED_SUFFIXES) or metric.startswith(LAGGED_PREFIXES)
        cells = held_cells(window, entity, metric, lags.get(entity, 0) if lagged else 0)
        known = cells[~np.isnan(cells)]
        if known.size < FEWEST_CELLS or np.ptp(known) == 0:
            continue
        own = entity == gpu.key and metric.startswith("gpu_")
        items.append(Item("metric", f"{entity} {metric}", _about(window, entity), _unit(metric), follows=own))
        rows.append(cells)
    values = np.array(rows).reshape(len(rows), window.cell_count)
    known_cells = ~np.isnan(values)
    return Table.of(tuple(items), np.nan_to_num(values), known_cells.astype(np.float64))


def mean_effect(table: Table, gap: Floats, rest: Floats) -> Floats:
    """Difference of two means in standard deviations of the series over the window."""
    known = table.totals[table.total_of]
    count = np.maximum(known.sum(axis=1), 1)
    mean = table.values.sum(axis=1) / count
    square = ((table.values - mean[:, None]) ** 2 * known).sum(axis=1) / count
    spread = np.sqrt(square)
    found: Floats = np.divide(gap - rest, spread, out=np.zeros(spread.size), where=spread > 0)
    return found
