"""The promise about every value: ``sampled = delivered + spooled + buffered + dropped(reason)``, at every instant.

A value is one position of one column, missing ones included (``wire.count_values``). Each term is moved by the event
that it names, never computed from the others, so that a test can hold them against each other and the queue.
"""

from __future__ import annotations

from collections import Counter

from gapscope_agent.wire import Accounting


class Ledger:
    """The terms since the agent's start, in values."""

    def __init__(self) -> None:
        self.sampled = 0
        self.delivered = 0
        self.spooled = 0
        self.buffered = 0
        self.dropped: Counter[str] = Counter()

    def sample(self, values: int) -> None:
        """A batch was closed: its values are in memory, not delivered."""
        self.sampled += values
        self.buffered += values

    def deliver(self, values: int) -> None:
        """The server acknowledged them."""
        self.buffered -= values
        self.delivered += values

    def drop(self, values: int, reason: str) -> None:
        """They are given up for ``reason``."""
        self.buffered -= values
        self.dropped[reason] += values

    @property
    def holds(self) -> bool:
        """Whether the equation holds now."""
        return self.sampled == self.delivered + self.spooled + self.buffered + sum(self.dropped.values())

    def snapshot(self) -> Accounting:
        """The terms as they travel in a batch."""
        return Accounting(
            sampled=self.sampled,
            delivered=self.delivered,
            spooled=self.spooled,
            buffered=self.buffered,
            dropped=dict(self.dropped),
        )
