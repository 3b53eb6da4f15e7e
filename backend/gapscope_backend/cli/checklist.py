"""The checklist as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from gapscope_backend.analysis.checklist.model import FAIL, NOT_MEASURABLE, PASS, WARN, Checklist, Line
from gapscope_backend.analysis.language import DEFAULT_LANGUAGE, Language, Text
from gapscope_backend.cli.columns import right, wrapped

MARKS = {PASS: Text("pass"), WARN: Text("WARN"), FAIL: Text("FAIL"), NOT_MEASURABLE: Text("-")}
MARK_WIDTH = 4
_COLORS = {PASS: "32", WARN: "33", FAIL: "31", NOT_MEASURABLE: "2"}
WIDTH = 118
INDENT = " " * 8
PROCESSES = 3
"""Commands are listed for the first few processes; ``--json`` has them all."""


def render_checklist(found: Checklist, *, color: bool = False, language: Language = DEFAULT_LANGUAGE) -> str:
    """The whole list, ending in a newline."""
    return "\n".join(_lines(found, color, language)) + "\n"


def _lines(found: Checklist, color: bool, language: Language) -> Iterator[str]:
    yield found.sentence.render(language)
    yield from (Text("note: {note}", note=note).render(language) for note in found.notes)
    yield ""
    for line in found.lines:
        yield from _line(line, color, language)
    pids = list(dict.fromkeys(hint.pid for hint in found.beyond))
    if pids:
        yield ""
        yield Text("What counters that are always on cannot tell, and what can:").render(language)
    for hint in found.beyond:
        if hint.pid in pids[:PROCESSES]:
            asked = Text("  {tool}, pid {pid}: {question}", tool=hint.tool, pid=hint.pid, question=hint.question)
            yield asked.render(language)
            yield f"      {hint.command}"


def _line(line: Line, color: bool, language: Language) -> Iterator[str]:
    mark = right(MARKS[line.status].render(language), MARK_WIDTH)
    painted = f"\x1b[{_COLORS[line.status]}m{mark}\x1b[0m" if color else mark
    yield f"  {painted}  {line.title.render(language)}"
    yield from wrapped(line.figure.render(language), WIDTH, INDENT, INDENT, language)
    if line.advice:
        yield from wrapped(line.advice.render(language), WIDTH, f"{INDENT}   ", f"{INDENT}-> ", language)
