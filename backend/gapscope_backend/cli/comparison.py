"""A comparison as aligned text for a terminal: one column a side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gapscope_backend.analysis.compare.model import Comparison
from gapscope_backend.analysis.language import DEFAULT_LANGUAGE, Language, Text
from gapscope_backend.analysis.quantity import quantity
from gapscope_backend.analysis.verdict import NONE
from gapscope_backend.cli.columns import left, right, width

NAME_WIDTH = 46
COLUMN_WIDTH = 14
SHOWN_SHARE = 0.005
"""Rows of less than half a percent on every side are left out; ``--json`` has them all."""
FUNCTIONS = 10


_LEVELS = {
    "time": Text("time"),
    "pipelines": Text("pipelines"),
    "throughput": Text("throughput"),
    "roofs": Text("roofs"),
    "power": Text("power"),
    "pcie": Text("pcie"),
    "cpu": Text("cpu"),
}


def render_comparison(found: Comparison, language: Language = DEFAULT_LANGUAGE) -> str:
    """The whole table, ending in a newline."""
    columns = max(COLUMN_WIDTH, *(width(side.label) + 2 for side in found.sides))
    return "\n".join(_Table(columns, language).lines(found)) + "\n"


@dataclass(frozen=True)
class _Table:
    """Rows with ``columns`` a side, in a language."""

    columns: int
    language: Language

    def lines(self, found: Comparison) -> Iterator[str]:
        yield found.sentence.render(self.language)
        yield from (Text("note: {note}", note=note).render(self.language) for note in found.notes)
        yield ""
        yield self._row("", [side.label for side in found.sides])
        yield self._row(Text("verdict"), [side.verdict for side in found.sides])
        yield self._row(Text("lost to faults"), [f"{side.lost_share:.1%}" for side in found.sides])
        yield self._row(Text("seconds"), [f"{(side.end_ns - side.start_ns) / 1e9:.1f}" for side in found.sides])
        level = ""
        for metric in found.metrics:
            if metric.level != level:
                level = metric.level
                yield ""
                yield _LEVELS[level].render(self.language)
            cells = [quantity(value, metric.unit) for value in metric.values]
            yield self._row(Text("  {label}", label=metric.label), cells)
        yield ""
        yield Text("where the GPU time went").render(self.language)
        for row in found.ledger:
            if max(row.shares) >= SHOWN_SHARE:
                yield self._row(f"  {row.cause}", [f"{share:.1%}" for share in row.shares], _points(row.shares))
        yield from self._functions(found)

    def _functions(self, found: Comparison) -> Iterator[str]:
        if not found.functions:
            return
        yield ""
        yield Text("innermost functions of the threads that feed the GPU").render(self.language)
        for row in found.functions[:FUNCTIONS]:
            shares = ["-" if share is None else f"{share:.1%}" for share in row.shares]
            yield self._row(f"  {row.function}  {row.file}", shares)

    def _row(self, name: str, cells: Sequence[str], end: Text = NONE) -> str:
        told = [right(self._said(cell), self.columns) for cell in cells]
        return f"{left(self._said(name), NAME_WIDTH)}{''.join(told)}{self._said(end)}".rstrip()

    def _said(self, text: str) -> str:
        return text.render(self.language) if isinstance(text, Text) else text


def _points(shares: Sequence[float]) -> Text:
    return Text("{change:+7.1f} points", change=(shares[-1] - shares[0]) * 100)
