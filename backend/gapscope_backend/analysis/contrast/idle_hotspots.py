"""Functions by the idle GPU-seconds that fall under them, over all rows of the ledger."""

from __future__ import annotations

from dataclasses import replace

from gapscope_backend.analysis.contrast.model import IdleHotspot
from gapscope_backend.analysis.hotspots import find_hotspots
from gapscope_backend.analysis.ledger import build_ledger
from gapscope_backend.analysis.view import View

TOP = 20


def rank_idle_hotspots(view: View) -> tuple[IdleHotspot, ...]:
    """Costliest first. Rows without functions of their own, such as ``unknown``, show all that was on the stacks."""
    total = float(view.idle.sum())
    if total <= 0:
        return ()
    found: list[IdleHotspot] = []
    for entry in build_ledger(view):
        idle = entry.idle_seconds
        if idle <= 0:
            continue
        cause = entry.cause
        everything = replace(entry, cause=replace(cause, activities=cause.activities or tuple(entry.idle)))
        found += [
            IdleHotspot(
                function=spot.function,
                file=spot.file,
                line=spot.line,
                source=spot.source,
                idle_gpu_seconds=spot.share * idle,
                share=spot.share * idle / total,
                samples=spot.samples,
                thread=spot.thread,
                pid=spot.pid,
                cause=cause.id,
            )
            for spot in find_hotspots(view, everything)
        ]
    return tuple(sorted(found, key=lambda spot: -spot.idle_gpu_seconds)[:TOP])
