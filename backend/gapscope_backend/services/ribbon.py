"""The ribbon: in each bucket the function in which the threads that feed the GPU mostly were.

Which threads feed it is the analysis's judgement, the same as in a verdict; where no process is known to hold a GPU,
all threads count. A function is named by its innermost frame outside the standard library: ``wait`` in threading.py
says less than who waits.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gapscope_backend.analysis.feeders import feeder_flags, leading
from gapscope_backend.analysis.frames import library_path
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.samples import Flags, Samples, read_samples
from gapscope_backend.analysis.verdict import NONE
from gapscope_backend.analysis.window import Frame, StackSamples, Window
from gapscope_backend.errors import UnprocessableError
from gapscope_backend.services.buckets import Ints, Span
from gapscope_backend.services.windows import load_window
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Host
from gapscope_backend.store.reader import Selection

MAX_SPAN_NS = 24 * 3600 * 1_000_000_000

# What the analysis reads besides stacks to tell how a thread waits.
_SELECTION = Selection(
    ("thread:*", "process:*"),
    frozenset(
        {"thread_cpu_cores", "thread_voluntary_switches_per_second", "process_voluntary_switches_per_second"},
    ),
)


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
    reason: Text


async def build_ribbon(database: Database, host: Host, start_ns: int, end_ns: int, buckets: int) -> Ribbon:
    """The ribbon of a host over a span."""
    if end_ns - start_ns > MAX_SPAN_NS:
        raise UnprocessableError("the ribbon spans at most 24 hours; choose a shorter from and to", "from")
    span = Span(start_ns, end_ns, buckets)
    if not host.has_stacks:
        return Ribbon(span.bucket_ns, [], [], Text("this host's agent takes no Python stacks"))
    window = await load_window(database, host, start_ns, end_ns, _SELECTION)
    return await asyncio.to_thread(draw, window, span)


def draw(window: Window, span: Span) -> Ribbon:
    """The ribbon of a window."""
    samples = read_samples(window)
    if samples is None:
        return Ribbon(span.bucket_ns, [], [], Text("no Python stacks were taken in this span"))
    source = samples.source
    named = np.array([_interest(stack, source.frames) for stack in source.stacks], dtype=np.int64)[samples.stack]
    chosen = np.flatnonzero(_feeding(window, samples) & (named >= 0))
    function_of_frame, functions = _functions(source)
    told = function_of_frame[named[chosen]]
    buckets = (source.times[samples.rows[chosen]] - span.start_ns) // span.bucket_ns
    steps = [
        _step(span.start_ns + bucket * span.bucket_ns, told[part], samples.active[chosen[part]])
        for bucket, part in _parts(buckets)
    ]
    return _compact(span.bucket_ns, functions, steps)


def _feeding(window: Window, samples: Samples) -> Flags:
    """Samples of the threads that feed a GPU; of all its owners' threads, or all there are, where none is told."""
    owners = tuple(sorted({pid for gpu in window.gpus for pid in gpu.owners}))
    feeders = feeder_flags(samples, owners)
    if feeders.any():
        return leading(samples, feeders)
    owned: Flags = np.isin(samples.pids, owners)
    return owned if owned.any() else np.ones(samples.count, dtype=np.bool_)


def _parts(buckets: Ints) -> list[tuple[int, Ints]]:
    """Each bucket that occurs, with the positions of its samples; ``buckets`` ascends."""
    if not buckets.size:
        return []
    parts = np.split(np.arange(buckets.size), np.flatnonzero(np.diff(buckets)) + 1)
    return [(int(buckets[part[0]]), part) for part in parts]


def _step(start_ns: int, functions: Ints, active: npt.NDArray[np.int8]) -> RibbonStep:
    function, count = Counter(functions.tolist()).most_common(1)[0]
    known = active[active >= 0]
    on_cpu = float((known == 1).mean()) if known.size else None
    return RibbonStep(start_ns, function, count / functions.size, functions.size, on_cpu)


def _interest(stack: tuple[int, ...], frames: tuple[Frame, ...]) -> int:
    """Frame that names a stack: the innermost that is no plumbing, else the innermost; -1 for an empty stack."""
    for index in stack:
        if not _is_plumbing(frames[index]):
            return index
    return stack[0] if stack else -1


def _is_plumbing(frame: Frame) -> bool:
    """Whether a frame belongs to the standard library."""
    top = library_path(frame.file).split("/", 1)[0].removesuffix(".py")
    return top in sys.stdlib_module_names or top.startswith("<frozen ")


def _functions(source: StackSamples) -> tuple[Ints, list[Frame]]:
    """Function of each frame; a function is a name in a file, shown at the line it was first seen at."""
    numbers: dict[tuple[str, str], int] = {}
    functions: list[Frame] = []
    of_frame = np.empty(len(source.frames), dtype=np.int64)
    for index, frame in enumerate(source.frames):
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
    return Ribbon(bucket_ns, [functions[index] for index in used], kept, NONE)
