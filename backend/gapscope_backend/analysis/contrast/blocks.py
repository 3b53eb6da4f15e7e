"""Is it chance? A permutation test over blocks of cells, with the largest difference as its statistic.

Neighbouring cells are alike on both sides: the GPU idles in runs, and a function stands on the stack for many cells on
end. Ten cells of one gap are nearer to one observation than to ten, so a test that takes cells or samples as
independent finds differences everywhere. Here the two sides' weights are cut into blocks and the blocks put in random
order, while stacks and series stay where they are. That keeps the runs of both and breaks only what is tested: which
of them fall together (block permutation, Politis and Romano 1994 on resampling dependent series; the length of a
block is taken from the autocorrelation of the weights, beyond which cells tell nothing of each other).

Many things are compared at once, so the statistic is the largest standardised difference of all items of a kind
(maxT, Westfall and Young 1993), which also takes into account that callers and callees, or CPU and power, go together;
kinds are joined by Bonferroni. So ``LEVEL`` is about the chance that a window without any relation gives any finding
(simulated, on-off GPUs and functions with runs of 0.3 to 2 s, 20 functions, a level of 5 %: 5 to 11 % of windows).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gapscope_backend.analysis.contrast.split import Split
from gapscope_backend.analysis.contrast.table import Table
from gapscope_backend.analysis.window import Floats, Ints

LEVEL = 0.05
PERMUTATIONS = 499
"""The smallest p-value is 1/500 per kind of thing, 1/100 after joining five kinds."""
AT_ONCE = 50
FEWEST_BLOCKS = 8
"""Fewer blocks have too few orders: one gap in one window may be a coincidence, whatever differs in it."""
UNRELATED = 0.1
"""Autocorrelation below which cells count as unrelated."""
SHORTEST_BLOCK = 2
SEED = 20_260_101
"""Fixed: the same window gives the same answer."""


@dataclass(frozen=True)
class Blocks:
    """Blocks into which the weights are cut; none where there would be too few."""

    length: int
    count: int

    @property
    def enough(self) -> bool:
        """True where there are enough blocks to permute."""
        return self.count >= FEWEST_BLOCKS


def _autocorrelation(values: Floats) -> Floats:
    """Autocorrelation by lag (Wiener-Khinchin, zero-padded so that the ends do not meet)."""
    centred = values - values.mean()
    spectrum = np.fft.rfft(centred, 2 * values.size)
    raw: Floats = np.fft.irfft(spectrum * spectrum.conj())[: values.size]
    return raw / raw[0] if raw[0] > 0 else np.zeros(values.size)


def find_blocks(split: Split) -> Blocks:
    """Twice the lag at which the weights' autocorrelation has first died away."""
    cells = split.gap.size
    if cells < SHORTEST_BLOCK * FEWEST_BLOCKS:
        return Blocks(cells, 1 if cells else 0)
    known = split.gap + split.rest > 0
    level = float(split.gap[known].mean()) if known.any() else 0.0
    unrelated = np.flatnonzero(_autocorrelation(np.where(known, split.gap, level)) < UNRELATED)
    lag = int(unrelated[0]) if unrelated.size else cells
    length = max(SHORTEST_BLOCK, 2 * lag)
    return Blocks(length, cells // length)


def _orders(random: np.random.Generator, cells: int, length: int, count: int) -> Ints:
    """int64[cells, count]: orders of the cells with blocks of ``length`` shuffled; the first cut is at random too."""
    shift = random.integers(0, length, (count, 1))
    block = (np.arange(cells) + shift) // length
    place = random.random((count, cells // length + 2))
    order: Ints = np.argsort(np.take_along_axis(place, block, axis=1), axis=1, kind="stable").T
    return order


def adjusted_p_values(tables: Sequence[Table], split: Split, blocks: Blocks) -> list[Floats]:
    """p-value of each item's difference, for each table; adjusted for all items and all tables."""
    differences = [[table.differences(split.gap[:, None], split.rest[:, None])] for table in tables]
    random = np.random.default_rng(SEED)
    for start in range(0, PERMUTATIONS, AT_ONCE):
        count = min(AT_ONCE, PERMUTATIONS - start)
        order = _orders(random, split.gap.size, blocks.length, count)
        gap, rest = split.gap[order], split.rest[order]
        for table, found in zip(tables, differences, strict=True):
            found.append(table.differences(gap, rest))
    return [np.minimum(1.0, len(tables) * _largest(np.concatenate(found, axis=1))) for found in differences]


def _largest(differences: Floats) -> Floats:
    """How often the largest difference of an order reaches that of each item in the observed one, the first column.

    The observed order is one of those that could have come, so it is among those that are counted.
    """
    centred = differences - differences.mean(axis=1, keepdims=True)
    spread = centred.std(axis=1, keepdims=True)
    size = np.abs(np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 1e-12))
    largest = size.max(axis=0, initial=0.0)
    reached: Floats = (largest[None, :] >= size[:, :1] * (1 - 1e-12)).mean(axis=1)
    return reached
