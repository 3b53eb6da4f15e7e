"""The one plain sentence on what differs."""

from __future__ import annotations

from collections.abc import Sequence

from gapscope_backend.analysis.contrast.model import Difference, IdleHotspot
from gapscope_backend.analysis.contrast.split import Split
from gapscope_backend.analysis.window import Gpu

ALWAYS_BUSY = 0.9


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
    clear = [d for d in differences if d.significant and not d.follows and d.kind != "line"]
    best = next((d for d in clear if d.effect > 0), clear[0] if clear else None)
    if best is None:
        return (
            f"{name} is {split.idlest:.0%} to {split.busiest:.0%} busy, but {gaps} nothing that was seen differs from "
            "the rest by more than chance would give."
        )
    if best.unit == "ratio":
        return f"{name}: {gaps} {_what(best)} {best.in_gaps:.0%} of the time, {rest} {best.in_rest:.0%}."
    return f"{name}: {gaps} {best.name} is {best.in_gaps:.3g} {best.unit}, {rest} {best.in_rest:.3g}."


def _what(difference: Difference) -> str:
    if difference.kind == "function":
        return f"{difference.name} ({difference.detail}) is on the stack"
    if difference.kind == "metric":
        return f"{difference.name} is at"
    return f"{difference.kind} {difference.name} is on a CPU"


def _no_contrast(name: str, split: Split, hotspots: Sequence[IdleHotspot]) -> str:
    busy = f"{split.idlest:.0%} to {split.busiest:.0%}"
    if split.name == "spans":
        return f"{name}: the chosen span is the whole window or none of it, so there is no rest to set it against."
    if split.idlest is not None and split.idlest >= ALWAYS_BUSY:
        return f"{name} has no gaps: each 100 ms is {busy} busy."
    hot = f"; most idle time falls under {hotspots[0].function} ({hotspots[0].file}:{hotspots[0].line})"
    return (
        f"{name} waits inside every 100 ms: each is {busy} busy, too alike to set gaps against the rest"
        f"{hot if hotspots else ''}."
    )
