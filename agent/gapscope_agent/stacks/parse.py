"""py-spy's two outputs to stacks. The output holds text of the target's choosing, so nothing in it is trusted.

Every fault of the output raises OutputError; sizes are bounded by the run that made it and by the limits here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from gapscope_agent.errors import AgentError
from gapscope_agent.reading import Frame

MAX_THREADS = 4096
MAX_DEPTH = 1000
MAX_TEXT = 4096
_T = TypeVar("_T")
TOGETHER_US = 20_000
"""Marks of one look lie this close together: py-spy writes the threads of a look one after the other."""


class OutputError(AgentError):
    """py-spy wrote what it should not; the message says what."""


@dataclass(frozen=True)
class SeenThread:
    """One thread as py-spy saw it: ``tid`` the kernel's number (None before Python 3.11), ``ident`` Python's own."""

    ident: int
    tid: int | None
    name: str | None
    frames: tuple[Frame, ...]
    active: bool | None = None
    owns_gil: bool | None = None


@dataclass(frozen=True)
class Look:
    """All threads at one moment, microseconds after the trace began."""

    t_us: int
    threads: tuple[SeenThread, ...]


class _DumpFrame(msgspec.Struct):
    name: str
    filename: str
    line: int


class _DumpThread(msgspec.Struct):
    thread_id: int
    active: bool
    owns_gil: bool
    frames: list[_DumpFrame]
    thread_name: str | None = None
    os_thread_id: int | None = None


class _Place(msgspec.Struct):
    filename: str = ""
    line: int = 0


class _Mark(msgspec.Struct):
    name: str
    ph: str
    tid: int
    ts: int
    args: _Place


_DUMP = msgspec.json.Decoder(list[_DumpThread])
_TRACE = msgspec.json.Decoder(list[_Mark])
_BEHIND = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,9})?)s behind in sampling")
_THREAD = re.compile(r"thread \((0[xX][0-9A-Fa-f]{1,16}|\d{1,19})\)(?:: (.*))?\Z", re.DOTALL)


def parse_dump(output: bytes) -> list[SeenThread]:
    """The threads of a ``dump --json``."""
    threads = _decode(_DUMP, output)
    return [
        SeenThread(
            ident=thread.thread_id,
            tid=thread.os_thread_id,
            name=thread.thread_name[:MAX_TEXT] if thread.thread_name else None,
            frames=tuple(_frame(f.name, f.filename, f.line) for f in thread.frames[:MAX_DEPTH]),
            active=thread.active,
            owns_gil=thread.owns_gil,
        )
        for thread in threads[:MAX_THREADS]
    ]


def parse_trace(output: bytes) -> list[Look]:
    """The looks of a ``record --format chrometrace --threads --idle`` at which something had changed.

    py-spy looks at all threads at once and writes a mark only for what changed since the look before; a thread
    without a mark still stood where it did. So every look in the result is whole and exact. Looks at which nothing
    had changed leave no mark and no look here. What the trace writes at its end to close its frames is left out.
    """
    marks = _decode(_TRACE, output)
    threads: dict[int, _Stack] = {}
    looks: list[Look] = []
    for group in _groups(marks):
        for mark in group:
            if mark.tid not in threads and len(threads) >= MAX_THREADS:
                raise OutputError(f"more than {MAX_THREADS} threads in one trace")
            threads.setdefault(mark.tid, _Stack()).take(mark)
        seen = tuple(found for ident, stack in threads.items() if (found := stack.seen(ident)) is not None)
        if seen:
            looks.append(Look(group[0].ts, seen))
    return looks


@dataclass
class _Stack:
    """The open frames of a thread, outermost first; the first is py-spy's line about the thread itself."""

    open: list[_Mark] = field(default_factory=list)

    def take(self, mark: _Mark) -> None:
        if mark.ph == "B":
            if len(self.open) > MAX_DEPTH:
                raise OutputError(f"a stack deeper than {MAX_DEPTH} frames")
            self.open.append(mark)
        elif mark.ph == "E":
            if not self.open or self.open[-1].name != mark.name:
                raise OutputError(f"the trace closes {mark.name[:80]!r}, which is not the open frame")
            self.open.pop()
        else:
            raise OutputError(f"the trace has a mark of kind {mark.ph[:20]!r}")

    def seen(self, ident: int) -> SeenThread | None:
        if not self.open:
            return None
        head, *frames = self.open
        found = _THREAD.match(head.name)
        if found is None:
            raise OutputError(f"the trace names a thread {head.name[:80]!r}")
        tid = None if found[1][:2].lower() == "0x" else int(found[1])
        return SeenThread(
            ident=ident,
            tid=tid,
            name=found[2][:MAX_TEXT] if found[2] else None,
            frames=tuple(_frame(f.name, f.args.filename, f.args.line) for f in reversed(frames)),
        )


def seconds_behind(said: str) -> float:
    """The most that py-spy said it was behind its rhythm; it says so from 1 s on."""
    return max((float(found) for found in _BEHIND.findall(said)), default=0.0)


def _groups(marks: list[_Mark]) -> Iterator[list[_Mark]]:
    """Marks of one look each, in order of time."""
    group: list[_Mark] = []
    for mark in marks:
        if group and mark.ts < group[-1].ts:
            raise OutputError("the trace goes back in time")
        if group and mark.ts - group[-1].ts > TOGETHER_US:
            yield group
            group = []
        group.append(mark)
    if group:
        yield group


def _decode(decoder: msgspec.json.Decoder[_T], output: bytes) -> _T:
    try:
        return decoder.decode(output)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise OutputError(f"py-spy's answer cannot be read: {error}") from error


def _frame(function: str, file: str, line: int) -> Frame:
    return Frame(function=function[:MAX_TEXT], file=file[-MAX_TEXT:], line=line if -1 <= line <= 1 << 31 else -1)
