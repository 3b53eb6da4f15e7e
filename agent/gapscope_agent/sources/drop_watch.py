"""A cheap eye on each GPU: did one that was in use stop being so? It only decides when stacks are worth their price.

The judgement that incidents and alerts rest on is the server's, over complete data. This one sees every look the
moment it is taken, ten times a second, and answers within half a second: the driver's utilization at once, the
hardware counter where it has been settled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

NS = 1_000_000_000
QUICK_SECONDS = 0.3
SLOW_SECONDS = 60.0
LOST_SHARE = 0.5
"""A GPU that lost this share of what it used to do is in a drop, as on the server."""
LOW_RATIO = 0.25
LOW_SECONDS = 5.0
"""So is one in use that does less than this for so long, whatever it did before."""
IN_USE_RATIO = 0.01
FORGET_NS = 60 * NS
STALE_NS = 5 * NS


@dataclass
class _Figure:
    seen_ns: int
    begun_ns: int
    quick: float
    low: float
    usual: float
    used_ns: int | None = None


class DropWatch:
    """Exponential means of each figure of each GPU. Written by the GPU's lane, read by the stacks' thread."""

    def __init__(self) -> None:
        self._figures: dict[tuple[int, str], _Figure] = {}
        self._dropped: frozenset[tuple[int, str]] = frozenset()

    def look(self, gpu: int, figure: str, mono_ns: int, active_ratio: float | None) -> None:
        """One look at a GPU; ``figure`` says by what, each is judged by itself. None where the driver did not tell."""
        if active_ratio is None or math.isnan(active_ratio):
            return
        key = (gpu, figure)
        seen = self._figures.get(key)
        if seen is None or mono_ns - seen.seen_ns > FORGET_NS:
            seen = self._figures[key] = _Figure(mono_ns, mono_ns, active_ratio, active_ratio, active_ratio)
        seconds = max(0.0, (mono_ns - seen.seen_ns) / NS)
        seen.seen_ns = mono_ns
        seen.quick += (active_ratio - seen.quick) * _weight(seconds, QUICK_SECONDS)
        seen.low += (active_ratio - seen.low) * _weight(seconds, LOW_SECONDS)
        if active_ratio >= IN_USE_RATIO:
            seen.used_ns = mono_ns
        dropped = self._judge(seen, mono_ns)
        if not dropped or seen.low < LOW_RATIO:
            seen.usual += (active_ratio - seen.usual) * _weight(seconds, SLOW_SECONDS)
        if dropped != (key in self._dropped):
            self._dropped = self._dropped | {key} if dropped else self._dropped - {key}

    def show(
        self, gpu: int, mono_ns: int, utilization_pct: float | None, gpm: Mapping[str, float | None] | None
    ) -> None:
        """A whole reading, as a recording holds it."""
        for figure, percent in (("utilization", utilization_pct), ("graphics", (gpm or {}).get("graphics_util_pct"))):
            self.look(gpu, figure, mono_ns, None if percent is None else percent / 100)

    def dropped(self, mono_ns: int) -> frozenset[int]:
        """The GPUs that are in a drop now."""
        fresh = (key for key in self._dropped if mono_ns - self._figures[key].seen_ns < STALE_NS)
        return frozenset(gpu for gpu, _ in fresh)

    def _judge(self, seen: _Figure, mono_ns: int) -> bool:
        if seen.used_ns is None or mono_ns - seen.used_ns > FORGET_NS:
            return False
        lost = seen.usual >= LOW_RATIO and seen.quick < LOST_SHARE * seen.usual
        return lost or (seen.low < LOW_RATIO and mono_ns - seen.begun_ns >= LOW_SECONDS * NS)


def _weight(seconds: float, mean_seconds: float) -> float:
    return 1.0 - math.exp(-seconds / mean_seconds)
