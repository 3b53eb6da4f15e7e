"""The metric sets that chunks refer to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from gapscope_backend.store.chunks.sets import MetricSet
from gapscope_backend.store.models import MetricSet as MetricSetRow


class MetricSets:
    """The metric sets by id, each read once: they never change."""

    def __init__(self) -> None:
        self._known: dict[int, MetricSet] = {}

    async def load(self, session: AsyncSession, ids: Iterable[int]) -> Mapping[int, MetricSet]:
        """At least the sets of these ids."""
        unknown = set(ids) - self._known.keys()
        if unknown:
            for row in await session.scalars(select(MetricSetRow).where(MetricSetRow.id.in_(unknown))):
                self._known[row.id] = MetricSet(row.id, tuple(row.names), tuple(row.quanta))
        return self._known
