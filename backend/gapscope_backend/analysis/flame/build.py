"""Folding: samples weighed by where they fell, stacks joined into a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gapscope_backend.analysis.counters import read_counters
from gapscope_backend.analysis.flame.model import Choice, Flame, FlameFrame, FlameNodes, Where
from gapscope_backend.analysis.gaps import GAP_THRESHOLD_RATIO, Flags
from gapscope_backend.analysis.verdict import Span
from gapscope_backend.analysis.window import CELL_NS, Floats, Ints, StackSamples, Window

_ROUND = 4
_FLAGS = 10_000_000


def build_flame(window: Window, choice: Choice) -> Flame:
    """The flame graph of a window; it is empty where no stacks were taken."""
    source = window.stacks
    if source is None:
        return Flame(choice.where, choice.against, 0, 0.0, 0.0, 0.0, [], FlameNodes())
    inside = _chosen(window, source, choice)
    idle, gap = _cells(window, choice.gpu)
    cell = (source.times[inside] - window.start_ns) // CELL_NS
    known = ~np.isnan(idle[cell])
    weights = _weights(choice.where, idle[cell], gap[cell])
    others = _weights(choice.against, idle[cell], gap[cell]) if choice.against else None
    tree = _Tree(source, has_other=others is not None)
    commands = {process.pid: process.command for process in window.processes}
    if choice.order == "time":
        tree.add_in_time(inside, weights, others, choice.by, commands)
    else:
        tree.add(inside, weights, others, choice.by, commands)
    nodes, frames = tree.columns(choice.min_share)
    return Flame(
        where=choice.where,
        against=choice.against,
        samples=int(inside.size),
        weight=round(float(weights.sum()), _ROUND),
        other_weight=0.0 if others is None else round(float(others.sum()), _ROUND),
        known_share=round(float(known.mean()), _ROUND) if inside.size else 0.0,
        frames=frames,
        nodes=nodes,
    )


def _chosen(window: Window, source: StackSamples, choice: Choice) -> Ints:
    """Positions of the samples that may count."""
    keep = (source.times >= window.start_ns) & (source.times < window.end_ns)
    if choice.spans:
        keep &= _in_spans(source.times, choice.spans)
    if choice.pids:
        keep &= np.isin(source.pids, choice.pids)
    if choice.tids:
        keep &= np.isin(source.tids, choice.tids)
    if choice.on_cpu:
        keep &= source.active != 0
    return np.flatnonzero(keep)


def _in_spans(times: Ints, spans: Sequence[Span]) -> Flags:
    """Whether each time lies in a span; spans may overlap."""
    starts = np.sort([span.start_ns for span in spans])
    ends = np.sort([span.end_ns for span in spans])
    open_spans = np.searchsorted(starts, times, side="right") - np.searchsorted(ends, times, side="right")
    inside: Flags = open_spans > 0
    return inside


def _cells(window: Window, index: int | None) -> tuple[Floats, Flags]:
    """Idle share of each cell, NaN where nothing is known, and whether the cell belongs to a gap."""
    active = [read_counters(window, gpu).graphics for gpu in window.gpus if index is None or gpu.index == index]
    if not active:
        return np.full(window.cell_count, np.nan), np.zeros(window.cell_count, dtype=np.bool_)
    rows = np.array(active)
    known = ~np.isnan(rows)
    idle = np.full(window.cell_count, np.nan)
    np.divide(np.where(known, 1 - rows, 0).sum(axis=0), known.sum(axis=0), out=idle, where=known.any(axis=0))
    gap: Flags = np.any(np.where(known, rows, 1.0) < GAP_THRESHOLD_RATIO, axis=0)
    return idle, gap


def _weights(where: Where, idle: Floats, gap: Flags) -> Floats:
    """Weight of each sample. Where nothing is known of the GPU a sample counts in ``all`` only."""
    known = ~np.isnan(idle)
    if where == "idle":
        return np.where(known, idle, 0.0)
    if where == "gaps":
        return (known & gap).astype(np.float64)
    if where == "outside":
        return (known & ~gap).astype(np.float64)
    return np.ones(idle.size)


@dataclass
class _Tree:
    source: StackSamples
    has_other: bool
    frame: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    other: list[float] = field(default_factory=list)
    frames: list[FlameFrame] = field(default_factory=list)
    _children: dict[int, int] = field(default_factory=dict)
    _numbers: dict[FlameFrame, int] = field(default_factory=dict)

    def add(self, inside: Ints, weights: Floats, others: Floats | None, by: str, commands: dict[int, str]) -> None:
        """Add samples; each different stack (of a thread) is gone through once."""
        source = self.source
        pids, tids = source.pids[inside], source.tids[inside]
        keys = [source.stack[inside]]
        if by != "none":
            keys.append(pids)
        if by == "thread":
            keys.append(tids)
        inverse, first = _numbered(_combined(keys))
        sums = np.bincount(inverse, weights=weights, minlength=first.size)
        other_sums: Floats = np.zeros(first.size)
        if others is not None:
            other_sums = np.bincount(inverse, weights=others, minlength=first.size).astype(np.float64)
        numbers = [self._number(FlameFrame(f.function, f.file, f.line)) for f in source.frames]
        for at, weight, other in zip(first.tolist(), sums.tolist(), other_sums.tolist(), strict=True):
            if weight or other:
                node = self._root(by, int(pids[at]), int(tids[at]), commands)
                for frame in reversed(source.stacks[int(source.stack[inside[at]])]):
                    node = self._child(node, numbers[frame])
                if node >= 0:
                    self.own[node] += weight
                    self.other[node] += other

    def add_in_time(
        self, inside: Ints, weights: Floats, others: Floats | None, by: str, commands: dict[int, str]
    ) -> None:
        """Add samples one after the other; a frame is joined with that of the sample before, below the same root."""
        source = self.source
        other = np.zeros(inside.size) if others is None else others
        pids, tids = source.pids[inside], source.tids[inside]
        rooted = [key for key, names in ((tids, {"thread"}), (pids, {"thread", "process"})) if by in names]
        order = np.lexsort([source.times[inside], *rooted])
        numbers = [self._number(FlameFrame(f.function, f.file, f.line)) for f in source.frames]
        path: list[tuple[int, int]] = []
        for at in order[(weights[order] > 0) | (other[order] > 0)].tolist():
            root = self._root(by, int(pids[at]), int(tids[at]), commands)
            if path and path[0][0] != root:
                path = []
            path = path or [(root, -1)]
            path = self._path(
                path, [numbers[frame] for frame in reversed(source.stacks[int(source.stack[inside[at]])])]
            )
            node = path[-1][0]
            if node >= 0:
                self.own[node] += float(weights[at])
                self.other[node] += float(other[at])

    def _path(self, before: list[tuple[int, int]], frames: list[int]) -> list[tuple[int, int]]:
        """Nodes with their frames from the root down: those of the path before while it is the same, then new ones."""
        same = 0
        while same < min(len(frames), len(before) - 1) and before[same + 1][1] == frames[same]:
            same += 1
        path = before[: same + 1]
        for frame in frames[same:]:
            path.append((self._new(path[-1][0], frame), frame))
        return path

    def columns(self, min_share: float) -> tuple[FlameNodes, list[FlameFrame]]:
        """The tree in columns, small nodes left out, with the frames that it names."""
        total, other_total = self._summed(self.own), self._summed(self.other)
        roots = [at for at, parent in enumerate(self.parent) if parent < 0]
        limits = [min_share * sum(column[at] for at in roots) for column in (total, other_total)]
        places: dict[int, int] = {-1: -1}
        frames: dict[int, int] = {}
        nodes = FlameNodes()
        kept: list[int] = []
        for at, parent in enumerate(self.parent):
            if parent not in places or not (total[at] > limits[0] or other_total[at] > limits[1]):
                continue
            places[at] = len(kept)
            kept.append(at)
            nodes.frame.append(frames.setdefault(self.frame[at], len(frames)))
            nodes.parent.append(places[parent])
        nodes.total.extend(_rounded(total, kept))
        nodes.own.extend(_rounded(self.own, kept))
        if self.has_other:
            nodes.other_total.extend(_rounded(other_total, kept))
            nodes.other_own.extend(_rounded(self.other, kept))
        return nodes, [self.frames[number] for number in frames]

    def _summed(self, own: list[float]) -> list[float]:
        total = list(own)
        for at in range(len(total) - 1, -1, -1):
            if self.parent[at] >= 0:
                total[self.parent[at]] += total[at]
        return total

    def _root(self, by: str, pid: int, tid: int, commands: dict[int, str]) -> int:
        if by == "none":
            return -1
        command = commands.get(pid, "")
        node = self._child(-1, self._number(FlameFrame(f"process {pid}{': ' if command else ''}{command}")))
        if by == "thread":
            name = self.source.thread_names.get((pid, tid), "")
            node = self._child(node, self._number(FlameFrame(f"thread {tid}{': ' if name else ''}{name}")))
        return node

    def _number(self, frame: FlameFrame) -> int:
        number = self._numbers.setdefault(frame, len(self.frames))
        if number == len(self.frames):
            self.frames.append(frame)
        return number

    def _child(self, parent: int, frame: int) -> int:
        node = self._children.setdefault((parent + 1) << 32 | frame, len(self.frame))
        return self._new(parent, frame) if node == len(self.frame) else node

    def _new(self, parent: int, frame: int) -> int:
        self.frame.append(frame)
        self.parent.append(parent)
        self.own.append(0.0)
        self.other.append(0.0)
        return len(self.frame) - 1


def _combined(keys: list[Ints]) -> Ints:
    """One number for each combination of the columns' values."""
    combined = keys[0]
    for key in keys[1:]:
        _, number = np.unique(key, return_inverse=True)
        combined = combined * (int(number.max()) + 1 if number.size else 1) + number
    return combined


def _numbered(keys: Ints) -> tuple[Ints, Ints]:
    """The keys as numbers without many holes, and the first position of each number (0 for one that does not occur)."""
    most = int(keys.max()) if keys.size else -1
    if most >= _FLAGS:
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        return inverse, first
    first = np.zeros(most + 1, dtype=np.int64)
    first[keys[::-1]] = np.arange(keys.size - 1, -1, -1)
    return keys, first


def _rounded(column: list[float], kept: list[int]) -> list[float]:
    rounded: list[float] = np.round(np.array(column)[kept], _ROUND).tolist() if kept else []
    return rounded
