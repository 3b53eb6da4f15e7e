"""``gapscope explain --what-differs``: a GPU's gaps against the rest, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gapscope_backend.analysis.contrast.model import Contrast, Difference
from gapscope_backend.analysis.language import DEFAULT_LANGUAGE, Language, Text
from gapscope_backend.analysis.quantity import quantity
from gapscope_backend.cli.columns import left, right

SHOWN = 6
HOTSPOTS = 8
NAME_WIDTH = 52
SHOWN_IDLE_SHARE = 0.01
"""Where a GPU idled less than this, what it idled under says nothing."""
_TITLES = (
    ("functions", Text("functions on the stack")),
    ("lines", Text("lines on the stack")),
    ("threads", Text("threads on a CPU")),
    ("processes", Text("processes on a CPU")),
    ("metrics", Text("metrics")),
)


def render_contrasts(found: Sequence[Contrast], language: Language = DEFAULT_LANGUAGE) -> str:
    """One part a GPU, ending in a newline."""
    return "\n\n".join("\n".join(_lines(one, language)) for one in found) + "\n"


def _lines(found: Contrast, language: Language) -> Iterator[str]:
    yield found.sentence.render(language)
    if found.hotspots and found.idle_gpu_seconds >= SHOWN_IDLE_SHARE * (found.end_ns - found.start_ns) / 1e9:
        yield ""
        yield Text("  {seconds:.1f} idle GPU-seconds fall under", seconds=found.idle_gpu_seconds).render(language)
        for spot in found.hotspots[:HOTSPOTS]:
            thread = spot.thread or Text("thread").render(language)
            where = f"{spot.function}  {spot.file}:{spot.line}  [{thread}, pid {spot.pid}]"
            yield f"  {spot.share:6.1%} {spot.idle_gpu_seconds:7.1f} s  {where}"
    if not found.has_contrast:
        return
    yield ""
    yield f"  {_how(found).render(language)}"
    for name, title in _TITLES:
        yield from _table(title, getattr(found, name), language)


def _how(found: Contrast) -> Text:
    spans = Text("the chosen span against the rest")
    sides = spans if found.split == "spans" else Text("cells weighted by their idle share")
    if not found.blocks:
        return Text("{sides}; too few alternations to test, so nothing is marked", sides=sides)
    return Text(
        "{sides}; * more than chance (level {level:.0%} over all lists, {blocks} blocks of {cells} cells of 100 ms "
        "permuted)",
        sides=sides,
        level=found.level,
        blocks=found.blocks,
        cells=found.block_cells,
    )


def _table(title: Text, found: Sequence[Difference], language: Language) -> Iterator[str]:
    shown = [d for d in found if not d.follows and abs(d.effect) >= 0.01][:SHOWN]
    if not shown:
        return
    yield ""
    heads = [right(head.render(language), wide) for head, wide in _HEADS]
    counted = Text("counts (gaps, rest)").render(language)
    yield f"  {left(title.render(language), NAME_WIDTH)}  {'  '.join(heads)}      {counted}"
    for d in shown:
        counts = f"{d.gap_count:.0f}/{d.gap_total:.0f}, {d.rest_count:.0f}/{d.rest_total:.0f}"
        mark = "*" if d.significant else " "
        values = [right(quantity(value, d.unit).render(language), 12) for value in (d.in_gaps, d.in_rest)]
        yield f"{mark} {left(_name(d), NAME_WIDTH)}  {'  '.join(values)}  {d.effect:+6.2f}      {counts}"


_HEADS = ((Text("in gaps"), 12), (Text("in the rest"), 12), (Text("effect"), 6))


def _name(difference: Difference) -> str:
    return difference.name if difference.kind == "process" else f"{difference.name}  {difference.detail}".rstrip()
