"""Series that share timestamps, as one matrix of quanta; how many such matrices become one.

A series is (entity, metric). Its values are integers in quanta of the catalogue, as they came over the wire, so that
nothing is lost by moving them from batches into chunks and from chunk to chunk.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gapscope_agent.catalog import BY_NAME
from gapscope_agent.wire import DecodedGroup, Matrix, MissingRun
from gapscope_backend.store.chunks.runs import cut, moved, reasons_of, runs_of

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
AnyBlock = TypeVar("AnyBlock")
Row = tuple[str, str]
"""A series: entity and metric."""


@dataclass(frozen=True)
class Block:
    """``quanta`` int64[rows, n] at ``times`` int64[n] ns ascending; any number where ``missing`` says by row."""

    rows: tuple[Row, ...]
    times: Ints
    quanta: Ints
    missing: Mapping[int, Sequence[MissingRun]]

    def views(self, metrics: Set[str] | None, takes: Callable[[str], bool] | None) -> Iterator[DecodedGroup]:
        """The series as floats by entity, of the wanted ``metrics`` (None: all) of the entities that it ``takes``."""
        wanted: dict[str, dict[str, int]] = {}
        for number, (entity, metric) in enumerate(self.rows):
            if (metrics is None or metric in metrics) and (takes is None or takes(entity)):
                wanted.setdefault(entity, {})[metric] = number
        for entity, numbers in wanted.items():
            values = {metric: self.quanta[number] * BY_NAME[metric].quantum for metric, number in numbers.items()}
            missing = {metric: list(self.missing.get(number, ())) for metric, number in numbers.items()}
            for metric, runs in missing.items():
                for run in runs:
                    values[metric][run.start : run.start + run.count] = np.nan
            yield DecodedGroup(entity, self.times, values, missing)

    def part(self, low: int, high: int) -> Block:
        """The samples ``low:high``."""
        missing = {}
        for row, runs in self.missing.items():
            if kept := cut(runs, low, high):
                missing[row] = kept
        return Block(self.rows, self.times[low:high], self.quanta[:, low:high], missing)

    def select(self, numbers: Sequence[int]) -> Block:
        """Some rows, in the order of ``numbers``."""
        if len(numbers) == len(self.rows) and list(numbers) == list(range(len(self.rows))):
            return self
        missing = {at: self.missing[number] for at, number in enumerate(numbers) if number in self.missing}
        return Block(tuple(self.rows[n] for n in numbers), self.times, self.quanta[list(numbers)], missing)

    def absent(self) -> Bools | None:
        """bool[rows, n], true where there is no value; None where all are there."""
        if not self.missing:
            return None
        mask = np.zeros(self.quanta.shape, dtype=np.bool_)
        for row, runs in self.missing.items():
            for run in runs:
                mask[row, run.start : run.start + run.count] = True
        return mask


def block_of(matrix: Matrix) -> Block:
    """A group from the wire."""
    rows = rows_of(tuple(matrix.entities), tuple(matrix.metrics))
    return Block(rows, matrix.times, matrix.quanta, matrix.missing)


@lru_cache(maxsize=256)
def rows_of(entities: tuple[str, ...], metrics: tuple[str, ...]) -> tuple[Row, ...]:
    """The series of a group from the wire; batch after batch brings the same ones."""
    return tuple(itertools.product(entities, metrics))


def split(block: Block, width_ns: int) -> Iterator[tuple[int, Block]]:
    """The parts of a block that lie in ``[n x width, (n + 1) x width)``, each with its start in ns."""
    numbers = block.times // width_ns
    if numbers[0] == numbers[-1]:
        yield int(numbers[0]) * width_ns, block
        return
    edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), block.times.size]
    for low, high in itertools.pairwise(edges):
        yield int(numbers[low]) * width_ns, block.part(low, high)


def join(blocks: Sequence[Block]) -> list[Block]:
    """The same samples with each series in one block; of two at one moment the one in the later block stays.

    Series with the same moments come to share a block.
    """
    parts = [_follow(pieces) for pieces in regroup(blocks, [block.rows for block in blocks], Block.select)]
    together: dict[bytes, list[Block]] = {}
    for part in parts:
        together.setdefault(part.times.tobytes(), []).append(part)
    return [_stack(alike) for alike in together.values()]


def regroup(
    blocks: Sequence[AnyBlock], rows: Sequence[tuple[Row, ...]], select: Callable[[AnyBlock, Sequence[int]], AnyBlock]
) -> list[list[AnyBlock]]:
    """Pieces that follow one another: all pieces of one list hold the same series in the same order."""
    same: dict[tuple[Row, ...], list[int]] = {}
    for number, held in enumerate(rows):
        same.setdefault(held, []).append(number)
    if sum(map(len, same)) == len({row for held in same for row in held}):
        return [[blocks[n] for n in numbers] for numbers in same.values()]
    places: dict[Row, list[tuple[int, int]]] = {}
    for number, held in enumerate(rows):
        for at, row in enumerate(held):
            places.setdefault(row, []).append((number, at))
    alike: dict[tuple[int, ...], list[list[tuple[int, int]]]] = {}
    for found in places.values():
        alike.setdefault(tuple(number for number, _ in found), []).append(found)
    return [
        [select(blocks[number], [found[at][1] for found in founds]) for at, number in enumerate(numbers)]
        for numbers, founds in alike.items()
    ]


def _follow(pieces: Sequence[Block]) -> Block:
    """Pieces of the same series, one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    times = np.concatenate([piece.times for piece in pieces])
    quanta = np.concatenate([piece.quanta for piece in pieces], axis=1)
    missing: dict[int, list[MissingRun]] = {}
    first = 0
    for piece in pieces:
        for row, runs in piece.missing.items():
            missing[row] = _append(missing.get(row, []), moved(runs, first))
        first += piece.times.size
    joined = Block(pieces[0].rows, times, quanta, missing)
    return joined if (np.diff(times) > 0).all() else _ordered(joined)


def _append(runs: list[MissingRun], more: list[MissingRun]) -> list[MissingRun]:
    last = runs[-1] if runs else None
    if last and more and last.start + last.count == more[0].start and last.reason == more[0].reason:
        return [*runs[:-1], MissingRun(last.start, last.count + more[0].count, last.reason), *more[1:]]
    return runs + more


def _ordered(block: Block) -> Block:
    """The samples in order of time, the last told of each moment."""
    order = np.argsort(block.times, kind="stable")
    times = block.times[order]
    kept = order[np.append(np.diff(times) > 0, True)]
    missing = {}
    for row, runs in block.missing.items():
        reasons = reasons_of(runs, block.times.size)
        if found := runs_of([reasons[at] for at in kept.tolist()]):
            missing[row] = found
    return Block(block.rows, block.times[kept], block.quanta[:, kept], missing)


def _stack(alike: Sequence[Block]) -> Block:
    """Blocks with the same moments as one."""
    if len(alike) == 1:
        return alike[0]
    missing: dict[int, Sequence[MissingRun]] = {}
    first = 0
    for block in alike:
        missing.update((row + first, runs) for row, runs in block.missing.items())
        first += len(block.rows)
    rows = tuple(row for block in alike for row in block.rows)
    return Block(rows, alike[0].times, np.concatenate([block.quanta for block in alike]), missing)
