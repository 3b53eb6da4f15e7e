"""The ribbon: in each bucket the function that the threads which feed the GPU were in.

Only processes that hold a GPU count (all, where none is known to). On-CPU threads tell what the CPU did; in a bucket
where none was on CPU, the main thread tells what it waited in. A function is named by its innermost frame that is
not the interpreter's own plumbing: ``wait`` in threading.py says less than who waits.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gapscope_backend.analysis.window import Frame, StackSamples
from gapscope_backend.errors import UnprocessableError
from gapscope_backend.services.buckets import Span
from gapscope_backend.services.hosts import list_entities, owner_pids
from gapscope_backend.services.stacks import load_stacks
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Host

MAX_SPAN_NS = 24 * 3600 * 1_000_000_000
PLUMBING = (
    "threading.py",
    "queue.py",
    "selectors.py",
    "socket.py",
    "ssl.py",
    "subprocess.py",
    "contextlib.py",
    "multiprocessing/connection.py",
    "concurrent/futures/_base.py",
    "concurrent/futures/thread.py",
    "asyncio/base_events.py",
    "asyncio/events.py",
    "asyncio/runners.py",
)

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RibbonStep:
    """A bucket: index of its function, the share of its samples there, and the share of them on CPU."""

    start_ns: int
    function: int
    share: float
    samples: int
    on_cpu_share: float | None


@dataclass(frozen=True)
class Ribbon:
    """Steps of buckets that have samples; ``reason`` says why there are none."""

    bucket_ns: int
    functions: list[Frame]
    steps: list[RibbonStep]
    reason: str


async def build_ribbon(database: Database, host: Host, start_ns: int, end_ns: int, buckets: int) -> Ribbon:
    """The ribbon of a host over a span."""
    if end_ns - start_ns > MAX_SPAN_NS:
        raise UnprocessableError("the ribbon spans at most 24 hours; choose a shorter from and to", "from")
    span = Span(start_ns, end_ns, buckets)
    if not host.has_stacks:
        return Ribbon(span.bucket_ns, [], [], "this host's agent takes no Python stacks")
    stacks = await load_stacks(database, host.id, start_ns, end_ns)
    if stacks is None:
        return Ribbon(span.bucket_ns, [], [], "no Python stacks were taken in this span")
    gpus = await list_entities(database, host.id, start_ns, end_ns, ("gpu",))
    owners = set().union(*(owner_pids(gpu.labels) for gpu in gpus))
    return await asyncio.to_thread(draw, stacks, owners, span)


def draw(stacks: StackSamples, owners: set[int], span: Span) -> Ribbon:
    """The ribbon of stack samples, all inside the span."""
    feeding = np.isin(stacks.pids, list(owners)) if owners else np.ones(stacks.pids.size, dtype=np.bool_)
    if not feeding.any():
        feeding = np.ones(stacks.pids.size, dtype=np.bool_)
    named = np.array([_interest(stack, stacks.frames) for stack in stacks.stacks], dtype=np.int64)
    function_of_frame, functions = _functions(stacks.frames)
    rows = np.flatnonzero(feeding & (named[stacks.stack] >= 0))
    functions_of_rows = function_of_frame[named[stacks.stack[rows]]]
    buckets = (stacks.times[rows] - span.start_ns) // span.bucket_ns
    edges = np.flatnonzero(np.diff(buckets)) + 1
    steps = [
        _step(stacks, part, functions_of_rows[at : at + part.size], span.start_ns + int(buckets[at]) * span.bucket_ns)
        for at, part in zip((0, *edges.tolist()), np.split(rows, edges), strict=True)
        if part.size
    ]
    return _compact(span.bucket_ns, functions, steps)


def _step(stacks: StackSamples, rows: Ints, functions: Ints, start_ns: int) -> RibbonStep:
    active = stacks.active[rows]
    chosen = active == 1
    if not chosen.any():
        main = stacks.tids[rows] == stacks.pids[rows]
        chosen = main if main.any() else np.ones(rows.size, dtype=np.bool_)
    function, count = Counter(functions[chosen].tolist()).most_common(1)[0]
    known = active >= 0
    on_cpu = float((active[known] == 1).mean()) if known.any() else None
    total = int(chosen.sum())
    return RibbonStep(start_ns, function, count / total, total, on_cpu)


def _interest(stack: tuple[int, ...], frames: tuple[Frame, ...]) -> int:
    """Frame that names a stack: the innermost that is no plumbing, else the innermost; -1 for an empty stack."""
    for index in stack:
        if not frames[index].file.endswith(PLUMBING):
            return index
    return stack[0] if stack else -1


def _functions(frames: tuple[Frame, ...]) -> tuple[Ints, list[Frame]]:
    """Function of each frame; a function is a name in a file, shown at the line it was first seen at."""
    numbers: dict[tuple[str, str], int] = {}
    functions: list[Frame] = []
    of_frame = np.empty(len(frames), dtype=np.int64)
    for index, frame in enumerate(frames):
        key = (frame.file, frame.function)
        if key not in numbers:
            numbers[key] = len(functions)
            functions.append(frame)
        of_frame[index] = numbers[key]
    return of_frame, functions


def _compact(bucket_ns: int, functions: list[Frame], steps: list[RibbonStep]) -> Ribbon:
    """Keep only the functions that a step names."""
    used = sorted({step.function for step in steps})
    place = {function: at for at, function in enumerate(used)}
    kept = [
        RibbonStep(step.start_ns, place[step.function], step.share, step.samples, step.on_cpu_share) for step in steps
    ]
    return Ribbon(bucket_ns, [functions[index] for index in used], kept, "")
