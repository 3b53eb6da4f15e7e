"""From the frames of one stack to what it means on the CPU and off it. Judged once per distinct stack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.frames import FrameKind, frame_kind
from gapscope_backend.analysis.source_hints import off_cpu_hint, on_cpu_hint
from gapscope_backend.analysis.window import Frame

K = FrameKind
_ISSUES_GPU_WORK = frozenset(
    {
        K.LAUNCH,
        K.BACKWARD,
        K.MODULE_CALL,
        K.SYNC,
        K.DEVICE_WAIT,
        K.COLLECTIVE,
        K.ALLOCATOR,
        K.LOADER_WAIT,
        K.LOADER_WORK,
    }
)
_HELPS = frozenset({K.LOADER_HELPER, K.CPU_WORK})
_GPU_HINTS = frozenset({Activity.SYNC, Activity.COPY, Activity.ALLOCATOR, Activity.DEVICE_WAIT})


@dataclass(frozen=True)
class StackClass:
    """``on`` holds for a thread on the CPU (or unknown), ``off`` for one off it.

    ``own_code``: the innermost frame is the application's, so that the interpreter lock tells Python from a native
    call. ``waits_openly``: the innermost frame is a known wait. ``feeds``: the stack issues GPU work. ``reads``: it is
    in a library that reads files or is a client on the network.
    """

    on: Activity
    off: Activity
    own_code: bool = False
    waits_openly: bool = False
    feeds: bool = False
    reads: bool = False


EMPTY = StackClass(Activity.BLOCKED, Activity.BLOCKED)
_WHEREVER: tuple[tuple[FrameKind, Activity], ...] = (
    (K.CHECKPOINT, Activity.CHECKPOINT),
    (K.LOADER_WAIT, Activity.LOADER_WAIT),
    (K.LOADER_WORK, Activity.LOADER_WORK),
)
"""Kinds that decide wherever they stand in the stack: what is called below them serves them."""
_INNERMOST: dict[FrameKind, StackClass] = {
    K.ALLOCATOR: StackClass(Activity.ALLOCATOR, Activity.ALLOCATOR),
    K.DEVICE_WAIT: StackClass(Activity.DEVICE_WAIT, Activity.DEVICE_WAIT),
    K.SYNC: StackClass(Activity.SYNC, Activity.SYNC),
    K.COLLECTIVE: StackClass(Activity.COLLECTIVE, Activity.COLLECTIVE),
    K.IMPORT: StackClass(Activity.IMPORT, Activity.IMPORT),
    K.QUEUE_WAIT: StackClass(Activity.QUEUE_WAIT, Activity.QUEUE_WAIT, waits_openly=True),
    K.SERVER_WAIT: StackClass(Activity.CPU_WORK, Activity.QUEUE_WAIT, waits_openly=True),
    K.IO: StackClass(Activity.IO_WAIT, Activity.IO_WAIT, waits_openly=True),
    K.LAUNCH: StackClass(Activity.LAUNCH, Activity.STALLED),
    K.BACKWARD: StackClass(Activity.LAUNCH, Activity.LAUNCH),
    K.STDLIB: StackClass(Activity.CPU_WORK, Activity.BLOCKED),
    K.CARRIER: StackClass(Activity.CPU_WORK, Activity.STALLED),
}


_WAIT_KINDS = (K.QUEUE_WAIT, K.SERVER_WAIT, K.IO)


def _shape(kinds: Sequence[FrameKind], frames: Sequence[Frame]) -> StackClass:
    for kind, activity in _WHEREVER:
        if kind in kinds:
            return StackClass(activity, _off_below(kinds[0], frames[0], activity))
    meaningful = [kind for kind in kinds if kind is not K.NEUTRAL]
    first = meaningful[0] if meaningful else K.APP
    if first in _WAIT_KINDS:
        return _INNERMOST[_waits_for(meaningful)]
    if _prepares(meaningful):
        return StackClass(Activity.CPU_WORK, Activity.CPU_WORK)
    if first is K.MODULE_CALL or _forward_of_a_module(meaningful):
        return _INNERMOST[K.LAUNCH]
    return _INNERMOST.get(first) or _own_code(frames[0] if frames else None)


def _waits_for(kinds: Sequence[FrameKind]) -> FrameKind:
    """What a wait serves: below a server it is for requests, below a client library it is for what that reads."""
    own = _until_own_code(kinds)
    if K.SERVER_WAIT in kinds and kinds[0] is K.IO:
        return K.SERVER_WAIT
    return K.IO if K.IO in own and all(kind in _WAIT_KINDS for kind in own) else kinds[0]


def _until_own_code(kinds: Sequence[FrameKind]) -> Sequence[FrameKind]:
    """The innermost library frames, up to the first frame of the application."""
    return kinds[: kinds.index(K.APP)] if K.APP in kinds else kinds


def _prepares(kinds: Sequence[FrameKind]) -> bool:
    """Is it CPU work of a library, or own code that one calls, and no GPU work that such own code started in turn?"""
    if K.LOADER_HELPER in kinds:
        return True
    inner = _until_own_code(kinds)
    issues = bool(inner) and inner[0] in _ISSUES_GPU_WORK and K.CPU_WORK not in inner
    return K.CPU_WORK in kinds and not (issues and _through_callback(kinds))


def _through_callback(kinds: Sequence[FrameKind]) -> bool:
    """Does own code stand between the innermost library and the CPU library further out, but no module call?"""
    outer = kinds[kinds.index(K.APP) :] if K.APP in kinds else ()
    return K.CPU_WORK in outer and K.MODULE_CALL not in outer


def _off_below(innermost: FrameKind, frame: Frame, activity: Activity) -> Activity:
    """A batch that is loaded in this thread can wait for a file or a socket: then that is what it does.

    Own code of a dataset that is off the CPU reads as well: there is nothing else that it could wait for.
    """
    if activity is not Activity.LOADER_WORK:
        return activity
    reads = innermost in (K.IO, K.APP) or off_cpu_hint(frame.source) is Activity.IO_WAIT
    return Activity.IO_WAIT if reads else activity


def _forward_of_a_module(kinds: Sequence[FrameKind]) -> bool:
    """True where own code is called straight from a framework's module call: a ``forward`` of the application."""
    outer = next((kind for kind in kinds if kind is not K.APP), None)
    return bool(kinds) and kinds[0] is K.APP and outer is K.MODULE_CALL


def _own_code(innermost: Frame | None) -> StackClass:
    source = innermost.source if innermost else None
    on = on_cpu_hint(source)
    off = off_cpu_hint(source)
    if on is None:
        return StackClass(Activity.NATIVE, off or Activity.BLOCKED, own_code=True, waits_openly=off is not None)
    return StackClass(on, off or on, waits_openly=off is not None, feeds=on in _GPU_HINTS)


def classify_stack(frames: Sequence[Frame]) -> StackClass:
    """Meaning of a stack, innermost frame first. A thread without Python frames is ``BLOCKED`` at best."""
    if not frames:
        return EMPTY
    kinds = [frame_kind(frame) for frame in frames]
    shape = _shape(kinds, frames)
    feeds = shape.feeds or (any(kind in _ISSUES_GPU_WORK for kind in kinds) and not any(k in _HELPS for k in kinds))
    loads = K.LOADER_WORK in kinds and K.LOADER_HELPER not in kinds
    reads = K.IO in _until_own_code(kinds) and shape.off is Activity.IO_WAIT
    return StackClass(shape.on, shape.off, shape.own_code, shape.waits_openly, feeds or loads, reads)
