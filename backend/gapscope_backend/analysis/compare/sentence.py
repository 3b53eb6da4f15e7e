"""What became better, and what is the next limit, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from gapscope_backend.analysis.causes import BY_ID
from gapscope_backend.analysis.causes.cause import FAULT, LIMIT
from gapscope_backend.analysis.compare.model import LedgerChange, MetricRow
from gapscope_backend.analysis.compare.subject import Subject
from gapscope_backend.analysis.diagnose import SMALL_SHARE
from gapscope_backend.analysis.quantity import quantity
from gapscope_backend.analysis.roofs import PRACTICAL
from gapscope_backend.analysis.verdict import Verdict

ROOF = "roof"
NAMED = 2
CEILINGS = {"gpu_power_watts": 1.0, **{f"{name}_roof_ratio": share for name, share in PRACTICAL.items()}}
"""Shares of the peaks that well-made programs reach."""
TOLD = ("gpu_graphics_active_ratio", "gpu_sm_active_ratio", "gpu_tensor_active_ratio")


def next_limit(verdict: Verdict) -> str:
    """The costliest cause of the verdict, or ROOF where it is healthy."""
    return ROOF if verdict.verdict == "healthy" else verdict.verdict


def comparison_sentence(
    subjects: Sequence[Subject],
    better: Sequence[LedgerChange],
    worse: Sequence[LedgerChange],
    metrics: Sequence[MetricRow],
) -> str:
    """From first to last side: what fell, what rose, what the GPU does with it, what is next."""
    parts = [f"From {subjects[0].label} to {subjects[-1].label}:"]
    if better:
        parts.append(f"{_moves(better, 'fell')}.")
    if worse:
        parts.append(f"{'But ' if better else ''}{_moves(worse, 'rose')}.")
    if not better and not worse:
        parts.append(f"no cause moved by {SMALL_SHARE:.0%} of the GPU time or more.")
    parts += _activity(metrics)
    parts.append(_next(subjects[-1].verdict))
    return " ".join(parts)


def _moves(rows: Sequence[LedgerChange], verb: str) -> str:
    return ", ".join(f"{row.cause} {verb} from {row.shares[0]:.0%} to {row.shares[-1]:.0%}" for row in rows[:NAMED])


def _activity(metrics: Sequence[MetricRow]) -> list[str]:
    """The first figure of the time and pipeline levels that both ends know and that moved."""
    for name in TOLD:
        row = next((row for row in metrics if row.name == name), None)
        if row is None or row.values[0] is None or row.values[-1] is None:
            continue
        if abs(row.values[-1] - row.values[0]) >= SMALL_SHARE:
            before, after = quantity(row.values[0], row.unit), quantity(row.values[-1], row.unit)
            label = row.label[0].upper() + row.label[1:]
            return [f"{label} went from {before} to {after}."]
    return []


def _next(verdict: Verdict) -> str:
    row = next((row for row in verdict.ledger if row.cause == verdict.verdict), None)
    if verdict.verdict != "healthy":
        share = f" ({row.share:.0%})" if row else ""
        advice = f" {row.advice}" if row and row.row_class in (FAULT, LIMIT) else ""
        return f"Next limit: {verdict.verdict}, {_lower(BY_ID[verdict.verdict].title)}{share}.{advice}"
    small = [row for row in verdict.ledger if row.row_class in (FAULT, LIMIT)]
    most = max(small, key=lambda row: row.share, default=None)
    rest = "" if most is None or most.share < 0.005 else f", most {most.cause} ({most.share:.1%})"
    return f"Next limit: no fault costs {SMALL_SHARE:.0%} or more{rest}; {_roof(verdict)}."


def _roof(verdict: Verdict) -> str:
    """The roof that the GPUs are nearest to, relative to what can be reached."""
    near: dict[str, tuple[float, str]] = {}
    for gpu in verdict.gpus:
        for level in gpu.levels:
            if level.value is not None and level.name in CEILINGS:
                nearness = level.value / CEILINGS[level.name]
                near[level.label] = max(near.get(level.label, (0.0, "")), (nearness, f"{level.value:.0%}"))
    if not near:
        return "how near its roofs are was not measured"
    label, (_, value) = max(near.items(), key=lambda item: item[1][0])
    return f"the nearest roof is {label.removeprefix('of ')}, at {value}"


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
