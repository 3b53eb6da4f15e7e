"""The answer to "can it go live?" as plain data; ``check --json`` and the API give it out."""

from __future__ import annotations

from dataclasses import dataclass, field

from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import silence

PASS, WARN, FAIL, NOT_MEASURABLE = "pass", "warn", "fail", "not_measurable"
STATUSES = (FAIL, WARN, NOT_MEASURABLE, PASS)
"""Worst first."""


@dataclass(frozen=True)
class Line:
    """One check. ``figure`` is what was seen, in a sentence; ``advice`` what to do, empty where nothing is.

    ``value`` in ``unit`` was judged, where there is one figure. ``status`` is one of ``STATUSES``.
    """

    check: str
    title: Text
    status: str
    figure: Text
    advice: Text = field(default_factory=silence)
    value: float | None = None
    unit: str = ""


@dataclass(frozen=True)
class Beyond:
    """What counters that are always on cannot tell about a process, and the command that can."""

    question: Text
    pid: int
    tool: str
    command: str


@dataclass(frozen=True)
class Checklist:
    """All lines in their order. ``status`` is the worst of fail, warn and pass."""

    host: str
    start_ns: int
    end_ns: int
    status: str
    sentence: Text
    lines: tuple[Line, ...]
    beyond: tuple[Beyond, ...]
    notes: tuple[Text, ...]
