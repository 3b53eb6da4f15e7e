"""The last minute of a host as the fleet page shows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Window
from gapscope_backend.services.gaps import ACTIVE_METRIC

MINUTE_NS = 60_000_000_000
STEPS = 60


@dataclass(frozen=True)
class LastMinute:
    """The minute before ``data_end_ns``: active ratio of each GPU in steps of a second (NaN: none), and a verdict."""

    data_end_ns: int
    made_ns: int
    active: dict[str, list[float]]
    verdict: Verdict | None


def active_seconds(window: Window) -> dict[str, list[float]]:
    """Mean active ratio of each GPU in each second of a minute; the driver's utilization where there is no counter."""
    out: dict[str, list[float]] = {}
    for gpu in window.gpus:
        cells = window.gpu_cells(gpu, ACTIVE_METRIC)
        if np.isnan(cells).all():
            cells = window.cells(gpu.key, "gpu_utilization_ratio")
        rows = np.resize(cells, (STEPS, cells.size // STEPS))
        known = ~np.isnan(rows)
        sums = np.where(known, rows, 0.0).sum(axis=1)
        counts = known.sum(axis=1)
        means = np.full(STEPS, np.nan)
        np.divide(sums, counts, out=means, where=counts > 0)
        out[gpu.key] = np.round(means, 2).tolist()
    return out
