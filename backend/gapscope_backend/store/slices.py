"""Lists cut into pieces that a statement's bound parameters can hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def slices(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The items in their order, at most ``size`` at a time; none for an empty list."""
    return (items[at : at + size] for at in range(0, len(items), size))
