"""The tiers of the store: how wide their buckets are and how long their chunks become."""

from __future__ import annotations

from dataclasses import dataclass

SECOND_NS = 1_000_000_000
SLOT_NS = 300 * SECOND_NS
"""A raw chunk covers one slot."""
RAW = 0


@dataclass(frozen=True)
class Tier:
    """Buckets of ``seconds``. A slot's chunk is written when the slot is compacted and merged with others later."""

    seconds: int
    merged_ns: int

    @property
    def width_ns(self) -> int:
        """Length of a bucket."""
        return self.seconds * SECOND_NS


TIERS = (Tier(10, 3600 * SECOND_NS), Tier(300, 24 * 3600 * SECOND_NS))
LONGEST_NS = max(tier.merged_ns for tier in TIERS)
"""No chunk covers more than this."""
