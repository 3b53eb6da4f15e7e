"""Newest value of each series of a host.

Kept as the newest column of each group of series that share moments: a batch replaces a group whole, so that taking a
batch in costs the same for ten series and for ten thousand. Who asks gets entity to metric to (time, value).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set
from functools import cache

import msgspec
import numpy as np

from gapscope_agent.catalog import BY_NAME
from gapscope_agent.wire import Matrix

Point = tuple[int, float | None]
Latest = dict[str, dict[str, Point]]
"""Entity to metric to (time in ns, value or None where it is missing)."""

# A series counts as current for three of its periods, and never less than this: one late batch is no gap.
_MIN_AGE_NS = 30_000_000_000


class LatestGroup(msgspec.Struct, array_like=True):
    """The newest values of series that share moments, entity after entity; None where one is missing."""

    entities: list[str]
    metrics: list[str]
    t: int
    values: list[float | None]


_DECODER = msgspec.msgpack.Decoder(list[LatestGroup])


def decode_latest(data: bytes) -> list[LatestGroup]:
    """The newest values of a stored row."""
    return _DECODER.decode(data)


def encode_latest(latest: Sequence[LatestGroup]) -> bytes:
    """A row's bytes."""
    return msgspec.msgpack.encode(latest)


def collect_latest(matrices: Iterable[Matrix]) -> list[LatestGroup]:
    """The last sample of each series; it stays None where that sample is missing."""
    return [_last_column(matrix) for matrix in matrices]


def merge_latest(old: Iterable[LatestGroup], new: Iterable[LatestGroup]) -> list[LatestGroup]:
    """Newest of both, without groups that have had no sample for three periods (a process that ended)."""
    merged: dict[tuple[tuple[str, ...], tuple[str, ...]], LatestGroup] = {}
    for group in (*old, *new):
        key = (tuple(group.entities), tuple(group.metrics))
        if key not in merged or merged[key].t <= group.t:
            merged[key] = group
    newest = max((group.t for group in merged.values()), default=0)
    return [group for group in merged.values() if newest - group.t <= _age_limit_ns(group.metrics)]


def points_of(groups: Iterable[LatestGroup], metrics: Set[str] | None = None) -> Latest:
    """The newest values by entity and metric, of some metrics or of all."""
    out: Latest = {}
    for group in sorted(groups, key=lambda group: group.t):
        wanted = [(at, metric) for at, metric in enumerate(group.metrics) if metrics is None or metric in metrics]
        if not wanted:
            continue
        for number, entity in enumerate(group.entities):
            points, first = out.setdefault(entity, {}), number * len(group.metrics)
            for at, metric in wanted:
                value = group.values[first + at]
                points[metric] = (group.t, None if value is None else round(value, decimals_of(metric)))
    return out


@cache
def decimals_of(metric: str) -> int:
    """Decimals down to a tenth of the metric's quantum; what lies below is noise of the arithmetic."""
    return max(0, 1 - math.floor(math.log10(BY_NAME[metric].quantum)))


def _last_column(matrix: Matrix) -> LatestGroup:
    quanta = np.array([BY_NAME[name].quantum for name in matrix.metrics])
    shape = (len(matrix.entities), len(matrix.metrics))
    values: list[float | None] = (matrix.quanta[:, -1].reshape(shape) * quanta).ravel().tolist()
    for row, runs in matrix.missing.items():
        if runs and runs[-1].start + runs[-1].count == matrix.times.size:
            values[row] = None
    return LatestGroup(list(matrix.entities), list(matrix.metrics), int(matrix.times[-1]), values)


def _age_limit_ns(metrics: Iterable[str]) -> int:
    periods = [BY_NAME[metric].period_seconds for metric in metrics if metric in BY_NAME]
    return max(_MIN_AGE_NS, int(3e9 * max(periods, default=0.0)))
