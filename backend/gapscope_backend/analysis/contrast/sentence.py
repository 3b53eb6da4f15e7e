"""The one plain sentence on what differs."""

from __future__ import annotations

from collections.abc import Sequence

from gapscope_backend.analysis.contrast.model import Difference, IdleHotspot
from gapscope_backend.analysis.contrast.split import Split
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.quantity import quantity
from gapscope_backend.analysis.verdict import NONE
from gapscope_backend.analysis.window import Gpu

ALWAYS_BUSY = 0.9
NOTABLE_CHANGE = 0.2
"""A metric whose sides are nearer than this (in parts of the larger) may be clear of chance and yet say nothing."""
NOTABLE_SHARE = 0.2
SMALL_EFFECT = 0.2
"""Cohen's h of a difference that counts as small (Cohen 1988)."""


def contrast_sentence(
    gpu: Gpu, split: Split, hotspots: Sequence[IdleHotspot], differences: Sequence[Difference]
) -> Text:
    """The clearest difference, or why there is none to show."""
    name = Text("GPU {index}", index=gpu.index)
    if split.idlest is None or split.busiest is None:
        return Text("{gpu}: nothing was measured in this window.", gpu=name)
    busy = Text("{idlest:.0%} to {busiest:.0%} busy", idlest=split.idlest, busiest=split.busiest)
    if not split.has_contrast:
        return _no_contrast(name, split, busy, hotspots)
    gaps, rest = _SPANS if split.name == "spans" else _GAPS
    tested = any(d.p_value is not None for d in differences)
    shown = [d for d in differences if _tells(d) and (d.significant or not tested)]
    best = next((d for d in shown if d.effect > 0), shown[0] if shown else None)
    if best is None:
        return Text(
            "{gpu} is {busy}, but {gaps} nothing that was seen differs from the rest by more than chance would give.",
            gpu=name,
            busy=busy,
            gaps=gaps,
        )
    said = (_METRIC if best.kind == "metric" else _SHARE).of(
        gpu=name,
        gaps=gaps,
        rest=rest,
        what=best.name if best.kind == "metric" else _what(best),
        there=quantity(best.in_gaps, best.unit),
        elsewhere=quantity(best.in_rest, best.unit),
        falls=_waited_for(best, hotspots),
    )
    if tested:
        return said
    return Text("{said} It alternates too seldom in this window to rule out a coincidence.", said=said)


_GAPS = (Text("in its gaps"), Text("while it works"))
_SPANS = (Text("in the chosen span"), Text("outside it"))
_METRIC = Text("{gpu}: {gaps} {what} is {there}, {rest} {elsewhere}{falls}.")
_SHARE = Text("{gpu}: {gaps} {what} {there} of the time, {rest} {elsewhere}{falls}.")
_ON_CPU = {
    "thread": Text("thread {name} is on a CPU"),
    "process": Text("process {name} is on a CPU"),
}


def _waited_for(best: Difference, hotspots: Sequence[IdleHotspot]) -> Text:
    """What the idle time falls under where the difference itself is not it: a wait differs, what it waits for works."""
    spot = hotspots[0] if hotspots else None
    if spot is None or spot.share < NOTABLE_SHARE or spot.function in (best.name, *best.also):
        return NONE
    return Text(
        "; {share:.0%} of the idle time falls under {function} ({file}:{line})",
        share=spot.share,
        function=spot.function,
        file=spot.file,
        line=spot.line,
    )


def _tells(difference: Difference) -> bool:
    """True for what makes a good headline: no line beside its function, and for metrics more than a small step."""
    larger = max(abs(difference.in_gaps), abs(difference.in_rest))
    if difference.kind == "metric":
        return not difference.follows and abs(difference.in_gaps - difference.in_rest) >= NOTABLE_CHANGE * larger
    return difference.kind != "line" and abs(difference.effect) >= SMALL_EFFECT


def _what(difference: Difference) -> Text:
    if difference.kind == "function":
        return Text("{function} ({place}) is on the stack", function=difference.name, place=difference.detail)
    return _ON_CPU[difference.kind].of(name=difference.name)


def _no_contrast(name: Text, split: Split, busy: Text, hotspots: Sequence[IdleHotspot]) -> Text:
    if split.name == "spans":
        return Text(
            "{gpu}: the chosen span is the whole window or none of it, so there is no rest to set it against.", gpu=name
        )
    if split.idlest is not None and split.idlest >= ALWAYS_BUSY:
        return Text("{gpu} has no gaps: each 100 ms is {busy}.", gpu=name, busy=busy)
    hot = NONE
    if hotspots:
        spot = hotspots[0]
        hot = Text(
            "; most idle time falls under {function} ({file}:{line})",
            function=spot.function,
            file=spot.file,
            line=spot.line,
        )
    return Text(
        "{gpu} waits inside every 100 ms: each is {busy}, too alike to set gaps against the rest{hot}.",
        gpu=name,
        busy=busy,
        hot=hot,
    )
