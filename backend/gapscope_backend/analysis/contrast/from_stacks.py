"""Tables of functions, lines, threads and processes: the stack snapshots of each cell in which they occur."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from gapscope_backend.analysis.contrast.table import Item, Table
from gapscope_backend.analysis.samples import Samples
from gapscope_backend.analysis.window import Floats, Frame, Ints, Process

FEWEST_SNAPSHOTS = 5
"""Things seen less often say nothing, and would only make the others' test stricter."""
MOST_FLAGS = 200_000_000
MOST_ITEMS = 300
"""The things that say most, by how often they both occur and do not occur, are compared."""


@dataclass(frozen=True)
class Snapshots:
    """Moments at which a process's threads were looked at: cell and process number of each."""

    samples: Samples
    cells: int
    cell: Ints
    pid_number: Ints
    pids: Ints


def read_snapshots(samples: Samples, cells: int) -> Snapshots:
    """Snapshots of the samples; every sample knows its own by ``samples.snapshot``."""
    _, first = np.unique(samples.snapshot, return_index=True)
    pids, number = np.unique(samples.pids[first], return_inverse=True)
    return Snapshots(samples, cells, samples.cell[first], number, pids)


def _distinct(numbers: Ints, below: int) -> Ints:
    """The different ones, ascending; by a table of flags where that fits, which is ten times as fast as by hashing."""
    if below > MOST_FLAGS:
        return np.unique(numbers)
    flags = np.zeros(below, dtype=bool)
    flags[numbers] = True
    return np.flatnonzero(flags)


def _count(snapshots: Snapshots, sample: Ints, item: Ints, items: tuple[Item, ...]) -> Table:
    """Table of pairs (sample, item); an item counts once a snapshot, among the snapshots of its processes."""
    if not items:
        return Table.of((), np.zeros((0, snapshots.cells)), np.zeros((0, snapshots.cells)))
    pairs = _distinct(snapshots.samples.snapshot[sample] * len(items) + item, snapshots.cell.size * len(items))
    snapshot, which = pairs // len(items), pairs % len(items)
    shape = (len(items), snapshots.cells)
    values = np.bincount(which * shape[1] + snapshots.cell[snapshot], minlength=shape[0] * shape[1])
    per_pid = np.bincount(
        snapshots.pid_number * shape[1] + snapshots.cell, minlength=snapshots.pids.size * shape[1]
    ).reshape(-1, shape[1])
    seen = np.zeros((shape[0], snapshots.pids.size))
    seen[which, snapshots.pid_number[snapshot]] = 1.0
    return _worth_comparing(Table.of(items, values.reshape(shape).astype(np.float64), seen @ per_pid))


def _worth_comparing(table: Table) -> Table:
    often = table.values.sum(axis=1)
    informative = np.minimum(often, table.total(np.ones(table.values.shape[1])) - often)
    chosen = np.flatnonzero(often >= FEWEST_SNAPSHOTS)
    best = np.sort(chosen[np.argsort(-informative[chosen], kind="stable")][:MOST_ITEMS])
    return table.chosen(best)


def _joined(table: Table) -> Table:
    """Items that occur in the same snapshots as one; items come innermost first, so the innermost names them."""
    groups: dict[tuple[bytes, int], list[int]] = {}
    for row in range(len(table.items)):
        groups.setdefault((table.values[row].tobytes(), int(table.total_of[row])), []).append(row)
    items = tuple(
        replace(table.items[rows[0]], also=tuple(dict.fromkeys(table.items[i].name for i in rows[1:])))
        for rows in groups.values()
    )
    return table.chosen([rows[0] for rows in groups.values()], items)


def _by_frame(snapshots: Snapshots, key: Callable[[Frame], tuple[str, ...]], item: Callable[[Frame], Item]) -> Table:
    """Table of what ``key`` takes together; numbered by mean depth, innermost first."""
    samples = snapshots.samples
    source = samples.source
    used, inverse = np.unique(samples.stack, return_inverse=True)
    numbers: dict[tuple[str, ...], int] = {}
    named: list[Item] = []
    depths: list[list[int]] = []
    of_stack: list[Ints] = []
    for stack in used.tolist():
        found: dict[int, int] = {}
        for depth, index in enumerate(source.stacks[stack]):
            frame = source.frames[index]
            number = numbers.setdefault(key(frame), len(numbers))
            if number == len(named):
                named.append(item(frame))
                depths.append([])
            found.setdefault(number, depth)
        for number, depth in found.items():
            depths[number].append(depth)
        of_stack.append(np.array(list(found), dtype=np.int64))
    order = np.argsort([float(np.mean(d)) for d in depths], kind="stable")
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    lengths = np.array([found.size for found in of_stack], dtype=np.int64)[inverse]
    sample = np.repeat(np.arange(samples.count), lengths)
    flat = np.concatenate([of_stack[i] for i in inverse.tolist()]) if samples.count else np.zeros(0, dtype=np.int64)
    return _joined(_count(snapshots, sample, place[flat], tuple(named[i] for i in order.tolist())))


def function_table(snapshots: Snapshots) -> Table:
    """Functions anywhere on a stack."""
    return _by_frame(
        snapshots, lambda f: (f.function, f.file), lambda f: Item("function", f.function, f"{f.file}:{f.line}")
    )


def line_table(snapshots: Snapshots) -> Table:
    """Lines anywhere on a stack, with their text where it is known."""

    def item(frame: Frame) -> Item:
        return Item("line", f"{frame.file}:{frame.line}", (frame.source or frame.function).strip())

    return _by_frame(snapshots, lambda f: (f.file, str(f.line)), item)


def thread_table(snapshots: Snapshots) -> Table:
    """Threads on a CPU by the sampler's judgement."""
    samples = snapshots.samples
    running = np.flatnonzero(samples.active == 1)
    names = samples.source.thread_names
    keys = list(zip(samples.pids[running].tolist(), samples.tids[running].tolist(), strict=True))
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    items = tuple(
        Item("thread", names.get(key) or f"thread {key[1]}", f"pid {key[0]}, tid {key[1]}") for key in numbers
    )
    return _count(snapshots, running, np.array([numbers[key] for key in keys], dtype=np.int64), items)


def process_table(snapshots: Snapshots, processes: tuple[Process, ...]) -> Table:
    """Processes with any thread on a CPU."""
    samples = snapshots.samples
    running = np.flatnonzero(samples.active == 1)
    commands = {process.pid: process.command for process in processes}
    pids = list(dict.fromkeys(samples.pids[running].tolist()))
    items = tuple(Item("process", commands.get(pid) or f"pid {pid}", f"pid {pid}") for pid in pids)
    numbers = {pid: number for number, pid in enumerate(pids)}
    which = np.array([numbers[pid] for pid in samples.pids[running].tolist()], dtype=np.int64)
    return _count(snapshots, running, which, items)


def share_effect(gap: Floats, rest: Floats) -> Floats:
    """Cohen's h of two shares: differences near 0 and 1 weigh more; 0.2 small, 0.5 medium, 0.8 large (Cohen 1988)."""
    found: Floats = 2 * (np.arcsin(np.sqrt(np.clip(gap, 0, 1))) - np.arcsin(np.sqrt(np.clip(rest, 0, 1))))
    return found
