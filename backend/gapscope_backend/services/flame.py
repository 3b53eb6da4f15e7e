"""Flame graphs of a host over a span: only stacks and what tells of the GPUs' gaps is read."""

from __future__ import annotations

import asyncio

from gapscope_backend.analysis.counters import GRAPHICS_SOURCES
from gapscope_backend.analysis.flame import Choice, Flame, build_flame
from gapscope_backend.analysis.window import LAG_METRIC
from gapscope_backend.errors import NotFoundError, UnprocessableError
from gapscope_backend.services.windows import load_window
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Host
from gapscope_backend.store.reader import Selection

MAX_SPAN_NS = 6 * 3600 * 1_000_000_000
MAX_ORDERED_NS = 600 * 1_000_000_000
_SELECTION = Selection(("gpu:*",), frozenset({*GRAPHICS_SOURCES, LAG_METRIC}))


async def flame_of(database: Database, host: Host, start_ns: int, end_ns: int, choice: Choice) -> Flame:
    """The flame graph of [start, end). Raises NotFoundError for a GPU that the span does not have."""
    if end_ns - start_ns > MAX_SPAN_NS:
        raise UnprocessableError("a flame graph spans at most six hours; choose a shorter from and to", "from")
    if choice.order == "time" and end_ns - start_ns > MAX_ORDERED_NS:
        text = "a flame graph in the order of time spans at most ten minutes; choose a shorter from and to"
        raise UnprocessableError(text, "from")
    window = await load_window(database, host, start_ns, end_ns, _SELECTION)
    if choice.gpu is not None and all(gpu.index != choice.gpu for gpu in window.gpus):
        there = ", ".join(str(gpu.index) for gpu in window.gpus) or "none"
        raise NotFoundError(f"there is no GPU {choice.gpu} in this span; there is: {there}", "gpu")
    return await asyncio.to_thread(build_flame, window, choice)
