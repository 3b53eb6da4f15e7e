"""Arithmetic of the runs in which a series has no value, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gapscope_agent.wire import MissingRun

Reasons = list[str | None]
"""By position: why there is no value, None where there is one."""


def moved(runs: Iterable[MissingRun], by: int) -> list[MissingRun]:
    """The runs, ``by`` positions further on."""
    return [MissingRun(run.start + by, run.count, run.reason) for run in runs]


def cut(runs: Iterable[MissingRun], low: int, high: int) -> list[MissingRun]:
    """What of the runs lies in positions ``low:high``, counted from ``low``."""
    bounds = [(max(run.start, low), min(run.start + run.count, high), run.reason) for run in runs]
    return [MissingRun(start - low, end - start, reason) for start, end, reason in bounds if end > start]


def reasons_of(runs: Iterable[MissingRun], count: int) -> Reasons:
    """The reason at each of ``count`` positions."""
    reasons: Reasons = [None] * count
    for run in runs:
        reasons[run.start : run.start + run.count] = [run.reason] * run.count
    return reasons


def runs_of(reasons: Sequence[str | None]) -> list[MissingRun]:
    """Runs of equal reasons; None where there is a value."""
    runs: list[MissingRun] = []
    for at, reason in enumerate(reasons):
        if reason is None:
            continue
        if runs and runs[-1].reason == reason and runs[-1].start + runs[-1].count == at:
            runs[-1] = MissingRun(runs[-1].start, runs[-1].count + 1, reason)
        else:
            runs.append(MissingRun(at, 1, reason))
    return runs
