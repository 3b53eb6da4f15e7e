"""Gaps: runs of 100 ms cells in which the GPU did next to nothing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gapscope_backend.analysis.verdict import Span
from gapscope_backend.analysis.window import CELL_NS, Floats

GAP_THRESHOLD_RATIO = 0.10
"""Graphics active below which a cell belongs to a gap; a setting of the product."""

Flags = npt.NDArray[np.bool_]


def runs(flags: Flags) -> list[tuple[int, int]]:
    """Half-open index ranges of the runs of True, in order."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(np.int8), [0]))))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def cell_spans(flags: Flags, start_ns: int, end_ns: int) -> tuple[Span, ...]:
    """The runs of True as spans of time; the last cell is cut at the window's end."""
    return tuple(Span(start_ns + a * CELL_NS, min(end_ns, start_ns + b * CELL_NS)) for a, b in runs(flags))


def longest(spans: tuple[Span, ...], count: int) -> tuple[Span, ...]:
    """The ``count`` longest spans, in order of time."""
    best = sorted(spans, key=lambda span: span.start_ns - span.end_ns)[:count]
    return tuple(sorted(best, key=lambda span: span.start_ns))


def find_gaps(graphics: Floats, start_ns: int, end_ns: int, threshold: float = GAP_THRESHOLD_RATIO) -> tuple[Span, ...]:
    """Gaps of one GPU from graphics active per cell (0..1). A cell without data (NaN) ends a gap."""
    return cell_spans(np.nan_to_num(graphics, nan=1.0) < threshold, start_ns, end_ns)
