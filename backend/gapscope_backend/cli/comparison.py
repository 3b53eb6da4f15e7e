"""A comparison as aligned text for a terminal: one column a side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gapscope_backend.analysis.compare.model import Comparison
from gapscope_backend.analysis.quantity import quantity

NAME_WIDTH = 46
COLUMN_WIDTH = 14
SHOWN_SHARE = 0.005
"""Rows of less than half a percent on every side are left out; ``--json`` has them all."""
FUNCTIONS = 10


def render_comparison(found: Comparison) -> str:
    """The whole table, ending in a newline."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Comparison) -> Iterator[str]:
    width = max(COLUMN_WIDTH, *(len(side.label) + 2 for side in found.sides))
    yield found.sentence
    yield from (f"note: {note}" for note in found.notes)
    yield ""
    yield _row("", [side.label for side in found.sides], width)
    yield _row("verdict", [side.verdict for side in found.sides], width)
    yield _row("lost to faults", [f"{side.lost_share:.1%}" for side in found.sides], width)
    yield _row("seconds", [f"{(side.end_ns - side.start_ns) / 1e9:.1f}" for side in found.sides], width)
    level = ""
    for metric in found.metrics:
        if metric.level != level:
            level = metric.level
            yield ""
            yield level
        yield _row(f"  {metric.label}", [quantity(value, metric.unit) for value in metric.values], width)
    yield ""
    yield "where the GPU time went"
    for row in found.ledger:
        if max(row.shares) >= SHOWN_SHARE:
            yield _row(f"  {row.cause}", [f"{share:.1%}" for share in row.shares], width, _points(row.shares))
    yield from _functions(found, width)


def _functions(found: Comparison, width: int) -> Iterator[str]:
    if not found.functions:
        return
    yield ""
    yield "innermost functions of the threads that feed the GPU"
    for row in found.functions[:FUNCTIONS]:
        shares = ["-" if share is None else f"{share:.1%}" for share in row.shares]
        yield _row(f"  {row.function}  {row.file}", shares, width)


def _points(shares: Sequence[float]) -> str:
    return f"{(shares[-1] - shares[0]) * 100:+7.1f} points"


def _row(name: str, cells: Sequence[str], width: int, end: str = "") -> str:
    short = name if len(name) <= NAME_WIDTH else name[: NAME_WIDTH - 1] + "…"
    return f"{short:<{NAME_WIDTH}}{''.join(f'{cell:>{width}}' for cell in cells)}{end}".rstrip()
