"""Check: one line of the checklist, as a rule over ``Facts``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gapscope_backend.analysis.checklist.facts import Facts
from gapscope_backend.analysis.checklist.model import NOT_MEASURABLE, Line
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE


@dataclass(frozen=True)
class Check:
    """``id`` and ``title`` of the line, and the rule that fills it."""

    id: str
    title: Text
    rule: Callable[[Facts], Line]


class Make(Protocol):
    """Makes lines of one check."""

    def __call__(  # noqa: D102 - the class says it
        self, status: str, figure: Text, advice: Text = NONE, value: float | None = None, unit: str = ""
    ) -> Line: ...


def line(check: str, title: Text) -> Make:
    """Makes lines of one check: ``make(status, figure, advice="", value=None, unit="")``."""

    def make(status: str, figure: Text, advice: Text = NONE, value: float | None = None, unit: str = "") -> Line:
        return Line(check, title, status, figure, advice, value, unit)

    return make


def unseen(check: str, title: Text, figure: Text, advice: Text = NONE) -> Line:
    """A line that cannot be measured, and why."""
    return Line(check, title, NOT_MEASURABLE, figure, advice)
