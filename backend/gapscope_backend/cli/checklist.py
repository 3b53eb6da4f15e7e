"""The checklist as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from gapscope_backend.analysis.checklist.model import FAIL, NOT_MEASURABLE, PASS, WARN, Checklist, Line

MARKS = {PASS: "pass", WARN: "WARN", FAIL: "FAIL", NOT_MEASURABLE: "   -"}
_COLORS = {PASS: "32", WARN: "33", FAIL: "31", NOT_MEASURABLE: "2"}
WIDTH = 118
INDENT = " " * 8
PROCESSES = 3
"""Commands are listed for the first few processes; ``--json`` has them all."""


def render_checklist(found: Checklist, *, color: bool = False) -> str:
    """The whole list, ending in a newline."""
    return "\n".join(_lines(found, color)) + "\n"


def _lines(found: Checklist, color: bool) -> Iterator[str]:
    yield found.sentence
    yield from (f"note: {note}" for note in found.notes)
    yield ""
    for line in found.lines:
        yield from _line(line, color)
    pids = list(dict.fromkeys(hint.pid for hint in found.beyond))
    if pids:
        yield ""
        yield "What counters that are always on cannot tell, and what can:"
    for hint in found.beyond:
        if hint.pid in pids[:PROCESSES]:
            yield f"  {hint.tool}, pid {hint.pid}: {hint.question}"
            yield f"      {hint.command}"


def _line(line: Line, color: bool) -> Iterator[str]:
    mark = MARKS[line.status]
    painted = f"\x1b[{_COLORS[line.status]}m{mark}\x1b[0m" if color else mark
    yield f"  {painted}  {line.title}"
    yield from textwrap.wrap(line.figure, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT)
    if line.advice:
        yield from textwrap.wrap(line.advice, WIDTH, initial_indent=f"{INDENT}-> ", subsequent_indent=f"{INDENT}   ")
