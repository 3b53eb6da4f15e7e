"""Tables: rows of one entity that share timestamps, collected until they are drained as columns.

Invariant: the times of every drained group ascend strictly. A row at or before the last one is dropped when it is a
repetition, and opens a new group when the wall clock was set back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

NOT_READ = "not_read"
"""Reason where a row has no value for a metric that other rows of its table have."""
CLOCK_STEP_NS = 1_000_000_000
"""A timestamp further back than this means a clock that was set back, not a repeated sample."""


@dataclass(frozen=True)
class DerivedGroup:
    """Series of one entity: ``times`` int64[n] ns ascending; ``values`` float64[n] a metric, NaN is missing.

    ``reasons`` names, for a metric, the positions that are missing and why.
    """

    entity: str
    times: npt.NDArray[np.int64]
    values: dict[str, npt.NDArray[np.float64]]
    reasons: dict[str, dict[int, str]]


TIME_QUANTUM_NS = 1_000_000
"""1 ms: a hundredth of a cell. Finer digits of a timestamp are the sampler's jitter; they cost 2.5 bytes a moment."""


class Table:
    """Rows of ``entity``, appended one at a time."""

    def __init__(self, entity: str) -> None:
        self.entity = entity
        self.last_t: int | None = None
        self.newest: Mapping[str, float] = {}
        self._closed: list[DerivedGroup] = []
        self._clear()

    def _clear(self) -> None:
        self._times: list[int] = []
        self._columns: dict[str, list[float]] = {}
        self._reasons: dict[str, dict[int, str]] = {}

    def append(self, t: int, values: Mapping[str, float], reasons: Mapping[str, str] | None = None) -> bool:
        """Add a row at ``t`` (ns); a NaN is missing for ``reasons[metric]``. False when the row repeats a time.

        The time is kept to TIME_QUANTUM_NS: the sampler's own jitter is larger, and its noise would be stored with it.
        """
        t -= t % TIME_QUANTUM_NS
        if self.last_t is not None and t <= self.last_t:
            if t > self.last_t - CLOCK_STEP_NS:
                return False
            self._close()
        position = len(self._times)
        self._times.append(t)
        self.last_t = t
        self.newest = values
        for metric, value in values.items():
            column = self._columns.setdefault(metric, [])
            if len(column) < position:
                self._pad(metric, column, position)
            column.append(value)
            if math.isnan(value):
                reason = reasons.get(metric, NOT_READ) if reasons else NOT_READ
                self._reasons.setdefault(metric, {})[position] = reason
        return True

    def drain(self) -> list[DerivedGroup]:
        """The rows since the last drain, as groups."""
        self._close()
        groups, self._closed = self._closed, []
        return groups

    def _pad(self, metric: str, column: list[float], length: int) -> None:
        reasons = self._reasons.setdefault(metric, {})
        reasons.update((position, NOT_READ) for position in range(len(column), length))
        column.extend([math.nan] * (length - len(column)))

    def _close(self) -> None:
        count = len(self._times)
        for metric, column in self._columns.items():
            if len(column) < count:
                self._pad(metric, column, count)
        if count and self._columns:
            times = np.array(self._times, dtype=np.int64)
            values = {metric: np.array(column, dtype=np.float64) for metric, column in self._columns.items()}
            self._closed.append(DerivedGroup(self.entity, times, values, self._reasons))
        self._clear()


class Tables:
    """All tables, by entity and a name for the clock that its rows share, and the labels of the entities."""

    def __init__(self) -> None:
        self._tables: dict[tuple[str, str], Table] = {}
        self.labels: dict[str, dict[str, str]] = {}
        self._forgotten: set[str] = set()

    def table(self, entity: str, clock: str) -> Table:
        """The table of ``entity`` whose rows are read together under the name ``clock``."""
        key = (entity, clock)
        table = self._tables.get(key)
        if table is None:
            table = self._tables[key] = Table(entity)
        self._forgotten.discard(entity)
        return table

    def label(self, entity: str, **labels: str | float | None) -> None:
        """Set facts of an entity; a None changes nothing."""
        known = self.labels.setdefault(entity, {})
        known.update((name, str(value)) for name, value in labels.items() if value is not None)

    def newest(self, since_ns: int, wanted: Callable[[str], bool]) -> dict[str, tuple[int, dict[str, float]]]:
        """Newest values of the wanted entities whose last row is not older than ``since_ns``, with its time."""
        found: dict[str, tuple[int, dict[str, float]]] = {}
        for (entity, _), table in self._tables.items():
            if table.last_t is not None and table.last_t >= since_ns and wanted(entity):
                t, values = found.get(entity, (0, {}))
                found[entity] = (max(t, table.last_t), {**values, **table.newest})
        return found

    def forget(self, entity: str) -> None:
        """The entity is gone: drop its tables and labels once its last rows are drained."""
        self._forgotten.add(entity)

    def drain(self) -> tuple[list[DerivedGroup], dict[str, dict[str, str]]]:
        """All rows since the last drain, and the labels of the entities that have some."""
        groups = [group for table in self._tables.values() for group in table.drain()]
        labels = {group.entity: dict(self.labels.get(group.entity, {})) for group in groups}
        if self._forgotten:
            self._tables = {key: table for key, table in self._tables.items() if key[0] not in self._forgotten}
            for entity in self._forgotten:
                self.labels.pop(entity, None)
            self._forgotten.clear()
        return groups, labels
