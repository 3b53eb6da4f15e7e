"""Cause: one row that the ledger can have, with its rule. A rule claims time; the ledger gives what is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE, Evidence
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

FAULT, LIMIT, UNUSED, MISSING, GOOD = "fault", "limit", "unused", "missing", "good"


@dataclass(frozen=True)
class Claim:
    """``idle``: for each activity the fraction (0..1, per cell or one number) of its remaining idle time.

    ``busy``: the fraction of each cell's remaining busy time. ``confidence`` 0..1 in the claim as a whole.
    """

    idle: Mapping[Activity, Floats | float] = field(default_factory=dict)
    busy: Floats | float = 0.0
    confidence: float = 0.8


@dataclass(frozen=True)
class Findings:
    """Evidence for and against a cause on one GPU."""

    supports: tuple[Evidence, ...] = ()
    speaks_against: tuple[Evidence, ...] = ()


def nothing(_: View) -> Findings:
    """No evidence beyond the time itself."""
    return Findings()


@dataclass(frozen=True)
class Cause:
    """Identity, advice and rule of one cause.

    ``activities`` are those whose samples are its hotspots; where ``looks_at_others`` is set, the feeding thread only
    waits and the hotspots are what other threads and child processes do meanwhile. ``source`` says where thresholds
    and formula come from.
    """

    id: str
    title: Text
    row_class: str
    advice: Text
    priority: str
    would_change: Text
    claim: Callable[[View], Claim]
    findings: Callable[[View], Findings] = nothing
    activities: tuple[Activity, ...] = ()
    looks_at_others: bool = False
    source: Text = NONE


def fact(
    signal: str, text: Text, value: float | None, threshold: float | None = None, unit: str = "ratio"
) -> tuple[Evidence, ...]:
    """One piece of evidence, or none where the value is not known."""
    return () if value is None else (Evidence(signal, text, value, threshold, unit),)


def stack_confidence(view: View) -> float:
    """Confidence that the number of stack samples allows: 0.5 with few, towards 0.95 with hundreds."""
    count = view.host.sample_count
    return round(0.5 + 0.45 * count / (count + 50.0), 2)
