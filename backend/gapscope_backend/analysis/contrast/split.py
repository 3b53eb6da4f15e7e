"""Split: how far each 100 ms cell belongs to the gaps and to the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gapscope_backend.analysis.verdict import Span
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import CELL_NS, Floats

CONTRAST_POINTS = 0.20
"""The busiest cells must be busier than the idlest by more than this; else gap and rest are the same cells."""
EXTREME_QUANTILE = 0.02
"""What counts as busiest and idlest, so that one odd cell does not decide."""


@dataclass(frozen=True)
class Split:
    """Weights float64[cells] in 0..1; they sum to 1 in cells that are known and to 0 elsewhere."""

    name: str
    gap: Floats
    rest: Floats
    idlest: float | None
    busiest: float | None

    @property
    def has_contrast(self) -> bool:
        """True where the two sides are different cells; spans need a whole cell on each side."""
        if self.name == "spans":
            return bool(min(self.gap.sum(), self.rest.sum()) >= 1.0)
        return self.idlest is not None and self.busiest is not None and self.busiest - self.idlest > CONTRAST_POINTS


def _extremes(graphics: Floats) -> tuple[float | None, float | None]:
    known = graphics[~np.isnan(graphics)]
    if not known.size:
        return None, None
    low, high = np.quantile(known, (EXTREME_QUANTILE, 1 - EXTREME_QUANTILE))
    return float(low), float(high)


def split_by_idle_share(view: View) -> Split:
    """Each cell counts to the gaps by its idle share and to the rest by graphics active."""
    graphics = view.counters.graphics
    busy = np.where(view.known, np.nan_to_num(graphics), 0.0)
    return Split("idle_share", np.where(view.known, 1.0 - busy, 0.0), busy, *_extremes(graphics))


def split_by_spans(view: View, spans: Sequence[Span]) -> Split:
    """Cells in ``spans`` (by the part of the cell that they cover) against all other cells of the window."""
    starts = view.window.start_ns + CELL_NS * np.arange(view.window.cell_count, dtype=np.int64)
    inside = np.zeros(starts.size)
    for span in spans:
        inside += np.clip(np.minimum(span.end_ns, starts + CELL_NS) - np.maximum(span.start_ns, starts), 0, CELL_NS)
    gap = np.clip(inside / CELL_NS, 0.0, 1.0)
    return Split("spans", gap, 1.0 - gap, *_extremes(view.counters.graphics))
