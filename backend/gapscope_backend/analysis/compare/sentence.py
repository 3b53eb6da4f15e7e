"""What became better, and what is the next limit, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from gapscope_backend.analysis.causes import BY_ID
from gapscope_backend.analysis.causes.cause import FAULT, LIMIT
from gapscope_backend.analysis.compare.model import LedgerChange, MetricRow
from gapscope_backend.analysis.compare.subject import Subject
from gapscope_backend.analysis.diagnose import SMALL_SHARE
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.quantity import quantity
from gapscope_backend.analysis.roofs import PRACTICAL
from gapscope_backend.analysis.verdict import NONE, Verdict

ROOF = "roof"
NAMED = 2
CEILINGS = {"gpu_power_watts": 1.0, **{f"{name}_roof_ratio": share for name, share in PRACTICAL.items()}}
"""Shares of the peaks that well-made programs reach."""
ROOFS = {
    "gpu_power_watts": Text("the power limit"),
    "memory_roof_ratio": Text("peak memory bandwidth while it works"),
    "tensor_roof_ratio": Text("the tensor pipes' peak while it works"),
    "fp32_roof_ratio": Text("the FP32 pipe's peak while it works"),
}
TOLD = ("gpu_graphics_active_ratio", "gpu_sm_active_ratio", "gpu_tensor_active_ratio")


def next_limit(verdict: Verdict) -> str:
    """The costliest cause of the verdict, or ROOF where it is healthy."""
    return ROOF if verdict.verdict == "healthy" else verdict.verdict


def comparison_sentence(
    subjects: Sequence[Subject],
    better: Sequence[LedgerChange],
    worse: Sequence[LedgerChange],
    metrics: Sequence[MetricRow],
) -> Text:
    """From first to last side: what fell, what rose, what the GPU does with it, what is next."""
    parts = [Text("From {first} to {last}:", first=subjects[0].label, last=subjects[-1].label)]
    if better:
        parts.append(Text("{moves:, }.", moves=_moves(better, _FELL)))
    if worse:
        parts.append((_BUT if better else _ROSE_ALONE).of(moves=_moves(worse, _ROSE)))
    if not better and not worse:
        parts.append(Text("no cause moved by {share:.0%} of the GPU time or more.", share=SMALL_SHARE))
    parts += _activity(metrics)
    parts.append(_next(subjects[-1].verdict))
    return Text("{parts: }", parts=tuple(parts))


_FELL = Text("{cause} ({title!l}) fell from {before:.0%} to {after:.0%}")
_ROSE = Text("{cause} ({title!l}) rose from {before:.0%} to {after:.0%}")
_ROSE_ALONE = Text("{moves:, }.")
_BUT = Text("But {moves:, }.")


def _moves(rows: Sequence[LedgerChange], text: Text) -> tuple[Text, ...]:
    return tuple(
        text.of(cause=row.cause, title=BY_ID[row.cause].title, before=row.shares[0], after=row.shares[-1])
        for row in rows[:NAMED]
    )


def _activity(metrics: Sequence[MetricRow]) -> list[Text]:
    """The first figure of the time and pipeline levels that both ends know and that moved."""
    for name in TOLD:
        row = next((row for row in metrics if row.name == name), None)
        if row is None or row.values[0] is None or row.values[-1] is None:
            continue
        if abs(row.values[-1] - row.values[0]) >= SMALL_SHARE:
            before, after = quantity(row.values[0], row.unit), quantity(row.values[-1], row.unit)
            return [Text("{label!u} went from {before} to {after}.", label=row.label, before=before, after=after)]
    return []


def _next(verdict: Verdict) -> Text:
    row = next((row for row in verdict.ledger if row.cause == verdict.verdict), None)
    if verdict.verdict != "healthy":
        return Text(
            "Next limit: {cause}, {title!l}{share}.{advice}",
            cause=verdict.verdict,
            title=BY_ID[verdict.verdict].title,
            share=Text(" ({share:.0%})", share=row.share) if row else NONE,
            advice=Text(" {advice}", advice=row.advice) if row and row.row_class in (FAULT, LIMIT) else NONE,
        )
    small = [row for row in verdict.ledger if row.row_class in (FAULT, LIMIT)]
    most = max(small, key=lambda row: row.share, default=None)
    return Text(
        "Next limit: no fault costs {share:.0%} or more{rest}; {roof}.",
        share=SMALL_SHARE,
        rest=NONE
        if most is None or most.share < 0.005
        else Text(
            ", most {cause} ({title!l}, {share:.1%})", cause=most.cause, title=BY_ID[most.cause].title, share=most.share
        ),
        roof=_roof(verdict),
    )


def _roof(verdict: Verdict) -> Text:
    """The roof that the GPUs are nearest to, relative to what can be reached."""
    near: dict[str, tuple[float, float]] = {}
    for gpu in verdict.gpus:
        for level in gpu.levels:
            if level.value is not None and level.name in ROOFS:
                nearness = level.value / CEILINGS[level.name]
                near[level.name] = max(near.get(level.name, (0.0, 0.0)), (nearness, level.value))
    if not near:
        return Text("how near its roofs are was not measured")
    name, (_, value) = max(near.items(), key=lambda item: item[1][0])
    return Text("the nearest roof is {roof}, at {value:.0%}", roof=ROOFS[name], value=value)
