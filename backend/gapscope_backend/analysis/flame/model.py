"""What to fold, and the tree that comes of it, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gapscope_backend.analysis.verdict import Span

Where = Literal["all", "idle", "gaps", "outside"]
"""Which samples count: all; each by the share of its cell in which the GPU was idle; those in gaps; the others."""


@dataclass(frozen=True)
class Choice:
    """Which samples, and how to fold them.

    ``against`` makes a difference: each node has its weight on both sides. ``gpu`` is an index, None for all GPUs: then
    a cell is a gap where any of them has one, and idle by their mean. ``spans`` narrow the window, () for all of it.
    ``by`` puts processes, or processes and threads, at the root. ``on_cpu`` leaves out threads that waited.
    ``order``: ``merged`` has a function once below its caller; ``time`` keeps the samples of each root in their order
    and joins a function only with itself in the sample before, so that children stand in the order of time.
    ``min_share``: nodes of this share of the whole or less are left out; the totals above them still count them.
    """

    where: Where = "all"
    against: Where | None = None
    gpu: int | None = None
    spans: tuple[Span, ...] = ()
    pids: tuple[int, ...] = ()
    tids: tuple[int, ...] = ()
    by: Literal["none", "process", "thread"] = "none"
    on_cpu: bool = False
    order: Literal["merged", "time"] = "merged"
    min_share: float = 0.0


@dataclass(frozen=True)
class FlameFrame:
    """A function at a line; a process or thread at the root has no file and line -1."""

    function: str
    file: str = ""
    line: int = -1


@dataclass(frozen=True)
class FlameNodes:
    """The tree in columns, a parent before its children; ``parent`` -1 is the root's.

    ``total`` is the weight of the samples in a node or below it, ``own`` of those that end in it, in samples;
    ``other_total`` and ``other_own`` are those of the other side of a difference, else empty.
    """

    frame: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    total: list[float] = field(default_factory=list)
    own: list[float] = field(default_factory=list)
    other_total: list[float] = field(default_factory=list)
    other_own: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Flame:
    """A flame graph. ``samples`` are those taken in the window, ``weight`` and ``other_weight`` what counted of them.

    ``known_share`` is the share of the samples in whose cells the GPU was measured: where it is low, gaps say little.
    """

    where: str
    against: str | None
    samples: int
    weight: float
    other_weight: float
    known_share: float
    frames: list[FlameFrame]
    nodes: FlameNodes
