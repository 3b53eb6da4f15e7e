"""Idle gaps of a host's GPUs over a span."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from gapscope_backend.analysis.gaps import runs
from gapscope_backend.analysis.window import CELL_NS, LAG_METRIC, Gpu, Window
from gapscope_backend.errors import UnprocessableError
from gapscope_backend.services.windows import GPU_KINDS, load_window
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Host
from gapscope_backend.store.reader import Selection

ACTIVE_METRIC = "gpu_graphics_active_ratio"
MAX_SPAN_NS = 24 * 3600 * 1_000_000_000

_SELECTION = Selection(("gpu:*",), frozenset({ACTIVE_METRIC, LAG_METRIC}))


@dataclass(frozen=True)
class Gap:
    """A run of 100 ms cells below the threshold; ``idle_seconds`` weighs each cell by its idle share."""

    entity: str
    start_ns: int
    end_ns: int
    idle_seconds: float


async def find_gaps(database: Database, host: Host, start_ns: int, end_ns: int, threshold: float) -> list[Gap]:
    """Gaps of all GPUs, longest first, with the counters' lag taken out."""
    if end_ns - start_ns > MAX_SPAN_NS:
        raise UnprocessableError("gaps are listed over at most 24 hours; choose a shorter from and to", "from")
    window = await load_window(database, host, start_ns, end_ns, _SELECTION, with_stacks=False, kinds=GPU_KINDS)
    return await asyncio.to_thread(_all_gaps, window, threshold)


def _all_gaps(window: Window, threshold: float) -> list[Gap]:
    gaps = [gap for gpu in window.gpus for gap in _gpu_gaps(window, gpu, threshold)]
    return sorted(gaps, key=lambda gap: (gap.start_ns - gap.end_ns, gap.start_ns, gap.entity))


def _gpu_gaps(window: Window, gpu: Gpu, threshold: float) -> list[Gap]:
    """Runs of idle cells. A cell without a value is no gap: nothing is known of it."""
    active = window.gpu_cells(gpu, ACTIVE_METRIC)
    return [
        Gap(
            gpu.key,
            window.start_ns + first * CELL_NS,
            min(window.start_ns + last * CELL_NS, window.end_ns),
            float((1 - active[first:last]).sum()) * CELL_NS / 1e9,
        )
        for first, last in runs(active < threshold)
    ]
