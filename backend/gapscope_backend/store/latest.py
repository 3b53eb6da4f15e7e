"""Newest value of each series of a host: entity to metric to (time in ns, value or None where it is missing)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache

import msgspec

from gapscope_agent.catalog import BY_NAME
from gapscope_agent.wire import Matrix

Point = tuple[int, float | None]
Latest = dict[str, dict[str, Point]]

# A series counts as current for three of its periods, and never less than this: one late batch is no gap.
_MIN_AGE_NS = 30_000_000_000

_DECODER = msgspec.msgpack.Decoder(Latest)


def decode_latest(data: bytes) -> Latest:
    """The newest values of a stored row."""
    return _DECODER.decode(data)


def encode_latest(latest: Latest) -> bytes:
    """A row's bytes."""
    return msgspec.msgpack.encode(latest)


def latest_of_matrix(matrix: Matrix) -> Latest:
    """The last sample of each series; it stays None where that sample is missing."""
    time, last = int(matrix.times[-1]), matrix.times.size
    absent = {row for row, runs in matrix.missing.items() if runs and runs[-1].start + runs[-1].count == last}
    rounding = [(name, BY_NAME[name].quantum, decimals_of(name)) for name in matrix.metrics]
    quanta = matrix.quanta[:, -1].tolist()
    out: Latest = {}
    for number, entity in enumerate(matrix.entities):
        first = number * len(rounding)
        out[entity] = {
            name: (time, None if first + at in absent else round(quanta[first + at] * quantum, decimals))
            for at, (name, quantum, decimals) in enumerate(rounding)
        }
    return out


@cache
def decimals_of(metric: str) -> int:
    """Decimals down to a tenth of the metric's quantum; what lies below is noise of the arithmetic."""
    return max(0, 1 - math.floor(math.log10(BY_NAME[metric].quantum)))


def collect_latest(matrices: Iterable[Matrix]) -> Latest:
    """Newest values over all groups; an entity may have several groups of different periods."""
    out: Latest = {}
    for matrix in matrices:
        for entity, points in latest_of_matrix(matrix).items():
            _lay_over(out.setdefault(entity, {}), points)
    return out


def merge_latest(old: Latest, new: Latest) -> Latest:
    """Newest of both, without series that have had no sample for three periods (a process that ended)."""
    merged = {entity: dict(points) for entity, points in old.items()}
    for entity, points in new.items():
        _lay_over(merged.setdefault(entity, {}), points)
    newest = max((time for points in merged.values() for time, _ in points.values()), default=0)
    kept = {
        entity: {metric: point for metric, point in points.items() if newest - point[0] <= _age_limit_ns(metric)}
        for entity, points in merged.items()
    }
    return {entity: points for entity, points in kept.items() if points}


def _lay_over(old: dict[str, Point], new: dict[str, Point]) -> None:
    for metric, point in new.items():
        if metric not in old or old[metric][0] <= point[0]:
            old[metric] = point


def _age_limit_ns(metric: str) -> int:
    known = BY_NAME.get(metric)
    return max(_MIN_AGE_NS, int(3e9 * known.period_seconds)) if known else 0
