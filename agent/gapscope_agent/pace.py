"""When the open batch is closed: at a steady pace, and sooner while a GPU has just stopped being used.

A batch costs the server the same whether it holds one second or five. But whoever waits for an alert waits for the
batch too: in a drop's first minutes a second is what it may take.
"""

from __future__ import annotations

NS = 1_000_000_000
QUICK_NS = NS
LONGEST_NS = 300 * NS
"""A drop that lasts longer than this is no news any more."""


class BatchPace:
    """Asked with a clock of the caller's: monotonic, or a recording's own time."""

    def __init__(self, batch_seconds: float, start_ns: int) -> None:
        self._batch_ns = int(batch_seconds * NS)
        self._closes_ns = start_ns + self._batch_ns
        self._closed_ns = start_ns
        self._dropped_ns: int | None = None

    def due(self, now_ns: int, dropped: bool) -> bool:
        """Whether to close the batch now; ``dropped``: some GPU is in a drop."""
        self._dropped_ns = (now_ns if self._dropped_ns is None else self._dropped_ns) if dropped else None
        recent = self._dropped_ns is not None and now_ns - self._dropped_ns < LONGEST_NS
        if now_ns < self._closes_ns and not (recent and now_ns - self._closed_ns >= QUICK_NS):
            return False
        self._closed_ns = now_ns
        if now_ns >= self._closes_ns:
            self._closes_ns += (now_ns - self._closes_ns) // self._batch_ns * self._batch_ns + self._batch_ns
        return True

    def wait_ns(self, now_ns: int) -> int:
        """When to ask again."""
        return max(0, min(self._closes_ns, now_ns + QUICK_NS) - now_ns)
