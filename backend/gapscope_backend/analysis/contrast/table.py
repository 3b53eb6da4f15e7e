"""Table: what is compared, counted per cell. One per kind of thing, from stacks or from series."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gapscope_backend.analysis.window import Floats


@dataclass(frozen=True)
class Item:
    """What a row of a table is about."""

    kind: str
    name: str
    detail: str = ""
    unit: str = "ratio"
    follows: bool = False
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """``values`` float64[items, cells] over ``totals`` float64[items, cells].

    Stacks: snapshots with the item, and snapshots in which it could have been. Series: the value, and 1 where there
    is one. A side's figure is the weighted sum of values over the weighted sum of totals.
    """

    items: tuple[Item, ...]
    values: Floats
    totals: Floats

    def side(self, weights: Floats) -> Floats:
        """Figure of each item under ``weights`` [cells] or [cells, permutations]; NaN where the side is empty."""
        over = self.totals @ weights
        out = np.full(over.shape, np.nan)
        np.divide(self.values @ weights, over, out=out, where=over > 0)
        return out

    def difference(self, gap: Floats, rest: Floats) -> Floats:
        """Gap less rest; 0 where one side is empty."""
        found: Floats = np.nan_to_num(self.side(gap) - self.side(rest))
        return found
