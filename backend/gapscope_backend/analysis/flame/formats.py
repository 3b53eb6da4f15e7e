"""Flame graphs for other programs: collapsed stacks (Brendan Gregg's flamegraph.pl) and speedscope's JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gapscope_backend.analysis.flame.model import Flame, FlameFrame

SPEEDSCOPE_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def collapsed(flame: Flame) -> str:
    """A line a stack: frames from the outermost, separated by semicolons, then the weight; two of a difference."""
    lines = []
    for stack, own, other in _stacks(flame):
        weights = f"{other:g} {own:g}" if flame.against else f"{own:g}"
        lines.append(";".join(_told(flame.frames[frame]) for frame in stack) + f" {weights}\n")
    return "".join(lines)


def speedscope(flame: Flame, name: str) -> dict[str, Any]:
    """The file format of speedscope.app: one sampled profile, or one for each side of a difference."""
    stacks = list(_stacks(flame))
    profiles = [_profile(f"{name}: {flame.where}", [(stack, own) for stack, own, _ in stacks])]
    if flame.against:
        profiles.append(_profile(f"{name}: {flame.against}", [(stack, other) for stack, _, other in stacks]))
    return {
        "$schema": SPEEDSCOPE_SCHEMA,
        "exporter": "gapscope",
        "name": name,
        "shared": {"frames": [_shared(frame) for frame in flame.frames]},
        "profiles": profiles,
    }


def _stacks(flame: Flame) -> Iterator[tuple[list[int], float, float]]:
    """Each stack in which samples ended: its frames from the outermost, and the weights of both sides."""
    nodes = flame.nodes
    paths: list[list[int]] = []
    for at, frame in enumerate(nodes.frame):
        parent = nodes.parent[at]
        paths.append([*(paths[parent] if parent >= 0 else ()), frame])
        other = nodes.other_own[at] if nodes.other_own else 0.0
        if nodes.own[at] or other:
            yield paths[at], nodes.own[at], other


def _told(frame: FlameFrame) -> str:
    text = f"{frame.function} ({frame.file}:{frame.line})" if frame.file else frame.function
    return text.replace(";", ":").replace("\n", " ").replace("\r", " ")


def _shared(frame: FlameFrame) -> dict[str, Any]:
    where: dict[str, Any] = {"file": frame.file, "line": frame.line} if frame.file else {}
    return {"name": frame.function, **where}


def _profile(name: str, stacks: list[tuple[list[int], float]]) -> dict[str, Any]:
    counted = [(stack, weight) for stack, weight in stacks if weight]
    return {
        "type": "sampled",
        "name": name,
        "unit": "none",
        "startValue": 0,
        "endValue": sum(weight for _, weight in counted),
        "samples": [stack for stack, _ in counted],
        "weights": [weight for _, weight in counted],
    }
