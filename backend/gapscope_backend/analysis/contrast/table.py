"""Table: what is compared, counted per cell. One per kind of thing, from stacks or from series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gapscope_backend.analysis.window import Floats, Ints


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
    """``values`` float64[items, cells] over ``totals`` float64[kinds of total, cells], of which each item has one.

    Stacks: snapshots with the item, and snapshots in which it could have been. Series: the value, and 1 where there
    is one. A side's figure is the weighted sum of values over the weighted sum of totals. Items share few totals
    (those of their processes), so each is kept and multiplied once.
    """

    items: tuple[Item, ...]
    values: Floats
    totals: Floats
    total_of: Ints

    @classmethod
    def of(cls, items: tuple[Item, ...], values: Floats, totals: Floats) -> Table:
        """Table from ``totals`` float64[items, cells], one row an item."""
        kinds: dict[bytes, int] = {}
        of_item = np.array([kinds.setdefault(row.tobytes(), len(kinds)) for row in totals], dtype=np.int64)
        _, first = np.unique(of_item, return_index=True)
        return cls(items, values, totals[first], of_item)

    def chosen(self, rows: Sequence[int] | Ints, items: tuple[Item, ...] | None = None) -> Table:
        """The table of some of its items, renamed where ``items`` are given."""
        kept = items if items is not None else tuple(self.items[row] for row in rows)
        place = np.asarray(rows, dtype=np.int64)
        return Table(kept, self.values[place], self.totals, self.total_of[place])

    def total(self, weights: Floats) -> Floats:
        """Weighted sum of the totals of each item."""
        found: Floats = (self.totals @ weights)[self.total_of]
        return found

    def side(self, weights: Floats) -> Floats:
        """Figure of each item under ``weights`` [cells]; NaN where the side is empty."""
        return _ratio(self.values @ weights, self.total(weights))

    def differences(self, gap: Floats, rest: Floats) -> Floats:
        """Gap less rest of each item under weights [cells, permutations]; 0 where one side is empty."""
        known = gap + rest
        if (known == 1.0).all():  # then the rest is what the gaps leave, and need not be multiplied
            value, total = self.values @ gap, self.totals @ gap
            values = value, self.values.sum(axis=1)[:, None] - value
            totals = total, self.totals.sum(axis=1)[:, None] - total
        else:
            values = self.values @ gap, self.values @ rest
            totals = self.totals @ gap, self.totals @ rest
        gaps, others = (_ratio(v, t[self.total_of]) for v, t in zip(values, totals, strict=True))
        found: Floats = np.nan_to_num(gaps - others)
        return found


def _ratio(value: Floats, total: Floats) -> Floats:
    out = np.full(total.shape, np.nan)
    np.divide(value, total, out=out, where=total > 1e-9)
    return out
