"""Stacks of the last seconds, kept until a drop makes them worth sending, so that its start is covered."""

from __future__ import annotations

from collections import deque

from gapscope_agent.reading import Stacks

RING_NS = 30_000_000_000
MAX_HELD = 20_000


class Ring:
    """Holds back what comes while nothing drops; nothing older than 30 s."""

    def __init__(self) -> None:
        self._held: deque[Stacks] = deque(maxlen=MAX_HELD)

    def keep(self, stacks: Stacks) -> None:
        """Hold one back, and let go what has become too old."""
        self._held.append(stacks)
        while self._held and self._held[0].t < stacks.t - RING_NS:
            self._held.popleft()

    def take(self) -> list[Stacks]:
        """All that is held, in order of time; the ring is empty afterwards."""
        taken = sorted(self._held, key=lambda stacks: stacks.t)
        self._held.clear()
        return taken
