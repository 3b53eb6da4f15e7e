"""The one plain sentence on what differs."""

from __future__ import annotations

from collections.abc import Sequence

from gapscope_backend.analysis.contrast.model import Difference, IdleHotspot
from gapscope_backend.analysis.contrast.split import Split
from gapscope_backend.analysis.quantity import quantity
from gapscope_backend.analysis.window import Gpu

ALWAYS_BUSY = 0.9
NOTABLE_CHANGE = 0.2
"""A metric whose sides are nearer than this (in parts of the larger) may be clear of chance and yet say nothing."""
NOTABLE_SHARE = 0.2
SMALL_EFFECT = 0.2
"""Cohen's h of a difference that counts as small (Cohen 1988)."""


def contrast_sentence(
    gpu: Gpu, split: Split, hotspots: Sequence[IdleHotspot], differences: Sequence[Difference]
) -> str:
    """The clearest difference, or why there is none to show."""
    name = f"GPU {gpu.index}"
    if split.idlest is None or split.busiest is None:
        return f"{name}: nothing was measured in this window."
    if not split.has_contrast:
        return _no_contrast(name, split, hotspots)
    gaps, rest = ("in the chosen span", "outside it") if split.name == "spans" else ("in its gaps", "while it works")
    tested = any(d.p_value is not None for d in differences)
    shown = [d for d in differences if _tells(d) and (d.significant or not tested)]
    best = next((d for d in shown if d.effect > 0), shown[0] if shown else None)
    if best is None:
        return (
            f"{name} is {split.idlest:.0%} to {split.busiest:.0%} busy, but {gaps} nothing that was seen differs from "
            "the rest by more than chance would give."
        )
    caveat = "" if tested else " It alternates too seldom in this window to rule out a coincidence."
    end = f"{_waited_for(best, hotspots)}.{caveat}"
    sides = (quantity(best.in_gaps, best.unit), quantity(best.in_rest, best.unit))
    if best.kind == "metric":
        return f"{name}: {gaps} {best.name} is {sides[0]}, {rest} {sides[1]}{end}"
    return f"{name}: {gaps} {_what(best)} {sides[0]} of the time, {rest} {sides[1]}{end}"


def _waited_for(best: Difference, hotspots: Sequence[IdleHotspot]) -> str:
    """What the idle time falls under where the difference itself is not it: a wait differs, what it waits for works."""
    spot = hotspots[0] if hotspots else None
    if spot is None or spot.share < NOTABLE_SHARE or spot.function in (best.name, *best.also):
        return ""
    return f"; {spot.share:.0%} of the idle time falls under {spot.function} ({spot.file}:{spot.line})"


def _tells(difference: Difference) -> bool:
    """True for what makes a good headline: no line beside its function, and for metrics more than a small step."""
    larger = max(abs(difference.in_gaps), abs(difference.in_rest))
    if difference.kind == "metric":
        return not difference.follows and abs(difference.in_gaps - difference.in_rest) >= NOTABLE_CHANGE * larger
    return difference.kind != "line" and abs(difference.effect) >= SMALL_EFFECT


def _what(difference: Difference) -> str:
    if difference.kind == "function":
        return f"{difference.name} ({difference.detail}) is on the stack"
    return f"{difference.kind} {difference.name} is on a CPU"


def _no_contrast(name: str, split: Split, hotspots: Sequence[IdleHotspot]) -> str:
    busy = f"{split.idlest:.0%} to {split.busiest:.0%}"
    if split.name == "spans":
        return f"{name}: the chosen span is the whole window or none of it, so there is no rest to set it against."
    if split.idlest is not None and split.idlest >= ALWAYS_BUSY:
        return f"{name} has no gaps: each 100 ms is {busy} busy."
    hot = ""
    if hotspots:
        hot = f"; most idle time falls under {hotspots[0].function} ({hotspots[0].file}:{hotspots[0].line})"
    return f"{name} waits inside every 100 ms: each is {busy} busy, too alike to set gaps against the rest{hot}."
