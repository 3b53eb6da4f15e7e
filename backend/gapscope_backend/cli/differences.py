"""``gapscope explain --what-differs``: a GPU's gaps against the rest, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gapscope_backend.analysis.contrast.model import Contrast, Difference
from gapscope_backend.analysis.quantity import quantity

SHOWN = 6
HOTSPOTS = 8
NAME_WIDTH = 52
SHOWN_IDLE_SHARE = 0.01
"""Where a GPU idled less than this, what it idled under says nothing."""
_TITLES = (
    ("functions", "functions on the stack"),
    ("lines", "lines on the stack"),
    ("threads", "threads on a CPU"),
    ("processes", "processes on a CPU"),
    ("metrics", "metrics"),
)


def render_contrasts(found: Sequence[Contrast]) -> str:
    """One part a GPU, ending in a newline."""
    return "\n\n".join("\n".join(_lines(one)) for one in found) + "\n"


def _lines(found: Contrast) -> Iterator[str]:
    yield found.sentence
    if found.hotspots and found.idle_gpu_seconds >= SHOWN_IDLE_SHARE * (found.end_ns - found.start_ns) / 1e9:
        yield ""
        yield f"  {found.idle_gpu_seconds:.1f} idle GPU-seconds fall under"
        for spot in found.hotspots[:HOTSPOTS]:
            where = f"{spot.function}  {spot.file}:{spot.line}  [{spot.thread or 'thread'}, pid {spot.pid}]"
            yield f"  {spot.share:6.1%} {spot.idle_gpu_seconds:7.1f} s  {where}"
    if not found.has_contrast:
        return
    yield ""
    yield f"  {_how(found)}"
    for name, title in _TITLES:
        yield from _table(title, getattr(found, name))


def _how(found: Contrast) -> str:
    sides = "the chosen span against the rest" if found.split == "spans" else "cells weighted by their idle share"
    if not found.blocks:
        return f"{sides}; too few alternations to test, so nothing is marked"
    blocks = f"{found.blocks} blocks of {found.block_cells} cells of 100 ms"
    return f"{sides}; * more than chance (level {found.level:.0%} over all lists, {blocks} permuted)"


def _table(title: str, found: Sequence[Difference]) -> Iterator[str]:
    shown = [d for d in found if not d.follows and abs(d.effect) >= 0.01][:SHOWN]
    if not shown:
        return
    yield ""
    yield f"  {title:<{NAME_WIDTH}}  {'in gaps':>12}  {'in the rest':>12}  {'effect':>6}      counts (gaps, rest)"
    for d in shown:
        counts = f"{d.gap_count:.0f}/{d.gap_total:.0f}, {d.rest_count:.0f}/{d.rest_total:.0f}"
        mark = "*" if d.significant else " "
        sides = f"{quantity(d.in_gaps, d.unit):>12}  {quantity(d.in_rest, d.unit):>12}"
        yield f"{mark} {_short(d):<{NAME_WIDTH}}  {sides}  {d.effect:+6.2f}      {counts}"


def _short(difference: Difference) -> str:
    text = difference.name if difference.kind == "process" else f"{difference.name}  {difference.detail}".rstrip()
    return text if len(text) <= NAME_WIDTH else text[: NAME_WIDTH - 1] + "…"
