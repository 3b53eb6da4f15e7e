"""Check: one line of the checklist, as a rule over ``Facts``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gapscope_backend.analysis.checklist.facts import Facts
from gapscope_backend.analysis.checklist.model import NOT_MEASURABLE, Line


@dataclass(frozen=True)
class Check:
    """``id`` and ``title`` of the line, and the rule that fills it."""

    id: str
    title: str
    rule: Callable[[Facts], Line]


def line(check: str, title: str) -> Callable[..., Line]:
    """Makes lines of one check: ``make(status, figure, advice="", value=None, unit="")``."""

    def make(status: str, figure: str, advice: str = "", value: float | None = None, unit: str = "") -> Line:
        return Line(check, title, status, figure, advice, value, unit)

    return make


def unseen(check: str, title: str, figure: str, advice: str = "") -> Line:
    """A line that cannot be measured, and why."""
    return Line(check, title, NOT_MEASURABLE, figure, advice)
