"""Samples folded into buckets of a tier: count, sum, minimum, maximum and idle count of each.

A bucket is additive: what came late is folded on its own and combined with what is there, and a mean over any number
of buckets is exact. A mean alone would hide a gap of 100 ms; minimum and idle count keep it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gapscope_agent.catalog import BY_NAME
from gapscope_agent.wire import MissingRun
from gapscope_backend.store.chunks.block import Block, Row, regroup
from gapscope_backend.store.chunks.runs import moved, reasons_of, runs_of

Ints = npt.NDArray[np.int64]

IDLE_BELOW = 0.1
"""A ratio below this counts as idle, as in the definition of a gap."""
_LOW, _HIGH = -(1 << 62), 1 << 62


@dataclass(frozen=True)
class Rolled:
    """Buckets of series that share them. ``times`` int64[n]: their starts, ns. ``stats`` int64[5, rows, n] in quanta.

    A count is 0 where a bucket has no value; ``missing`` says why, by row. What is no ratio is never idle.
    """

    rows: tuple[Row, ...]
    times: Ints
    stats: Ints
    missing: Mapping[int, Sequence[MissingRun]]

    @property
    def counts(self) -> Ints:
        """Values in each bucket."""
        return self._stat(0)

    @property
    def minimum(self) -> Ints:
        """Smallest value; 0 where there is none."""
        return self._stat(1)

    @property
    def maximum(self) -> Ints:
        """Largest value; 0 where there is none."""
        return self._stat(2)

    @property
    def total(self) -> Ints:
        """Sum of the values."""
        return self._stat(3)

    @property
    def idle(self) -> Ints:
        """Values below IDLE_BELOW."""
        return self._stat(4)

    def _stat(self, number: int) -> Ints:
        stat: Ints = self.stats[number]
        return stat

    def select(self, numbers: Sequence[int]) -> Rolled:
        """Some rows, in the order of ``numbers``."""
        at = list(numbers)
        missing = {to: self.missing[number] for to, number in enumerate(at) if number in self.missing}
        return Rolled(tuple(self.rows[n] for n in at), self.times, self.stats[:, at], missing)

    def within(self, start_ns: int, end_ns: int) -> Rolled:
        """The same buckets; those that do not begin in [start, end) have no value."""
        inside = (self.times >= start_ns) & (self.times < end_ns)
        return self if inside.all() else Rolled(self.rows, self.times, self.stats * inside, self.missing)


def roll(block: Block, width_ns: int) -> Rolled:
    """A block's samples in buckets of ``width_ns``."""
    numbers = block.times // width_ns
    edges = np.concatenate(([0], np.flatnonzero(np.diff(numbers)) + 1))
    limits = np.array([_idle_quanta(metric) for _, metric in block.rows], dtype=np.int64)[:, np.newaxis]
    quanta, absent = block.quanta, block.absent()
    stats = np.empty((5, len(block.rows), edges.size), dtype=np.int64)
    if absent is None:
        stats[0] = np.diff(np.append(edges, block.times.size))
        low = high = total = quanta
        idle = quanta < limits
    else:
        stats[0] = np.add.reduceat((~absent).astype(np.int64), edges, axis=1)
        low, high = np.where(absent, _HIGH, quanta), np.where(absent, _LOW, quanta)
        total = np.where(absent, 0, quanta)
        idle = (quanta < limits) & ~absent
    stats[1] = np.minimum.reduceat(low, edges, axis=1)
    stats[2] = np.maximum.reduceat(high, edges, axis=1)
    stats[3] = np.add.reduceat(total, edges, axis=1)
    stats[4] = np.add.reduceat(idle.astype(np.int64), edges, axis=1)
    stats[1:3][:, stats[0] == 0] = 0
    return Rolled(block.rows, numbers[edges] * width_ns, stats, _reasons(block, edges, stats[0]))


def coarser(rolled: Rolled, width_ns: int) -> Rolled:
    """The same in wider buckets."""
    return _fold(rolled, rolled.times // width_ns * width_ns)


def combine(parts: Sequence[Rolled]) -> list[Rolled]:
    """Each series in one place, buckets of the same time added up; series with the same buckets share a place."""
    joined = [_follow(pieces) for pieces in regroup(parts, [part.rows for part in parts], Rolled.select)]
    together: dict[bytes, list[Rolled]] = {}
    for part in joined:
        together.setdefault(part.times.tobytes(), []).append(part)
    return [_stack(alike) for alike in together.values()]


def _idle_quanta(metric: str) -> int:
    """The number of quanta from which a value is not idle; nothing of another kind than ratio is idle."""
    known = BY_NAME[metric]
    return int(np.ceil(IDLE_BELOW / known.quantum - 1e-9)) if known.kind == "ratio" else _LOW


def _reasons(block: Block, edges: Ints, counts: Ints) -> dict[int, list[MissingRun]]:
    """Why buckets have no value: the reason at their first moment."""
    found = {}
    for row, runs in block.missing.items():
        if counts[row].all():
            continue
        told: list[str | None] = [None] * edges.size
        for bucket in np.flatnonzero(counts[row] == 0).tolist():
            first = int(edges[bucket])
            told[bucket] = next(run.reason for run in runs if run.start <= first < run.start + run.count)
        found[row] = runs_of(told)
    return found


def _follow(pieces: Sequence[Rolled]) -> Rolled:
    """Pieces of the same series, one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    missing: dict[int, list[MissingRun]] = {}
    first = 0
    for piece in pieces:
        for row, runs in piece.missing.items():
            missing.setdefault(row, []).extend(moved(runs, first))
        first += piece.times.size
    times = np.concatenate([piece.times for piece in pieces])
    joined = Rolled(pieces[0].rows, times, np.concatenate([piece.stats for piece in pieces], axis=2), missing)
    return joined if (np.diff(times) > 0).all() else _fold(joined, times)


def _fold(rolled: Rolled, times: Ints) -> Rolled:
    """Buckets of equal ``times`` as one, in order."""
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    edges = np.concatenate(([0], np.flatnonzero(np.diff(ordered)) + 1))
    old = rolled.stats[:, :, order]
    stats = np.add.reduceat(old, edges, axis=2)
    stats[1] = np.minimum.reduceat(np.where(old[0] > 0, old[1], _HIGH), edges, axis=1)
    stats[2] = np.maximum.reduceat(np.where(old[0] > 0, old[2], _LOW), edges, axis=1)
    stats[1:3][:, stats[0] == 0] = 0
    missing = {}
    for row, runs in rolled.missing.items():
        told = reasons_of(runs, times.size)
        firsts = [told[order[edge]] for edge in edges.tolist()]
        if found := runs_of([None if stats[0, row, at] else reason for at, reason in enumerate(firsts)]):
            missing[row] = found
    return Rolled(rolled.rows, ordered[edges], stats, missing)


def _stack(alike: Sequence[Rolled]) -> Rolled:
    """Series with the same buckets in one place."""
    if len(alike) == 1:
        return alike[0]
    missing: dict[int, Sequence[MissingRun]] = {}
    first = 0
    for part in alike:
        missing.update((row + first, runs) for row, runs in part.missing.items())
        first += len(part.rows)
    rows = tuple(row for part in alike for row in part.rows)
    return Rolled(rows, alike[0].times, np.concatenate([part.stats for part in alike], axis=1), missing)
