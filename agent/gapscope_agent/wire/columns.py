"""Series of a group: float64 with NaN on either side, one pcodec matrix of int64 quanta of the catalogue between.

Decoding trusts nothing: a few kB of pcodec can claim hundreds of MB, so a matrix is decoded into a buffer of the
announced size, which ``messages`` bounds, and must fill it exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from pcodec import ChunkConfig, standalone

from gapscope_agent.catalog import BY_NAME
from gapscope_agent.wire.errors import WireError
from gapscope_agent.wire.messages import (
    MAX_POINTS_PER_GROUP,
    MAX_QUANTA,
    MAX_VALUES_PER_GROUP,
    Group,
    MissingRun,
)

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Reasons = Mapping[str, Mapping[int, str]]
"""Metric to (position to the reason why the value there is missing)."""

DEFAULT_REASON = "no_value"
MAX_OVERHEAD_BYTES, MAX_BYTES_PER_VALUE = 1024, 16
"""No pcodec data is larger; what follows the end of it would be stored with it."""
_CONFIG = ChunkConfig(compression_level=4)
"""For matrices of some thousand values, level 8 gives the same bytes in twice the time."""


class Columns(Protocol):
    """Series of one entity over the same moments; a NaN needs no reason but should have one."""

    @property
    def entity(self) -> str:
        """Key of the entity."""

    @property
    def times(self) -> Ints:
        """int64[n], ns since the epoch, ascending."""

    @property
    def values(self) -> Mapping[str, Floats]:
        """float64[n] by metric."""

    @property
    def reasons(self) -> Reasons:
        """Why values are missing."""


@dataclass(frozen=True)
class DecodedGroup:
    """One entity's series as numbers: ``times`` int64[n] ns ascending; ``values`` float64[n], NaN where missing."""

    entity: str
    times: Ints
    values: dict[str, Floats]
    missing: dict[str, list[MissingRun]]


@dataclass(frozen=True)
class Matrix:
    """A group decoded: ``quanta`` int64[entities x metrics, count], any number where ``missing`` says by row."""

    entities: Sequence[str]
    metrics: Sequence[str]
    times: Ints
    quanta: Ints
    missing: Mapping[int, list[MissingRun]]

    def views(self, metrics: Set[str] | None, takes: Callable[[str], bool] | None) -> Iterator[DecodedGroup]:
        """The series by entity, of the wanted ``metrics`` (None: all) of the entities that ``takes`` takes."""
        wanted = [(at, name) for at, name in enumerate(self.metrics) if metrics is None or name in metrics]
        for number, entity in enumerate(self.entities):
            if not wanted or (takes and not takes(entity)):
                continue
            rows = {name: number * len(self.metrics) + at for at, name in wanted}
            yield DecodedGroup(
                entity,
                self.times,
                {name: self._values(row, name) for name, row in rows.items()},
                {name: self.missing.get(row, []) for name, row in rows.items()},
            )

    def _values(self, row: int, metric: str) -> Floats:
        values: Floats = self.quanta[row] * BY_NAME[metric].quantum
        for run in self.missing.get(row, ()):
            values[run.start : run.start + run.count] = np.nan
        return values


@dataclass(frozen=True)
class _Single:
    entity: str
    times: Ints
    values: Mapping[str, Floats]
    reasons: Reasons


def encode_group(entity: str, times: Ints, columns: Mapping[str, Floats], reasons: Reasons | None = None) -> Group:
    """A wire group of one entity from float columns of ``len(times)`` values each."""
    [group] = encode_groups([_Single(entity, times, columns, reasons or {})])
    return group


def encode_groups(parts: Iterable[Columns]) -> list[Group]:
    """Wire groups; entities with the same moments and metrics share one."""
    together: dict[tuple[bytes, tuple[str, ...]], list[Columns]] = {}
    for part in parts:
        _check(part)
        if not part.values:
            continue
        together.setdefault((part.times.tobytes(), tuple(part.values)), []).append(part)
    groups: list[Group] = []
    for alike in together.values():
        size = alike[0].times.size * len(alike[0].values)
        step = max(1, MAX_VALUES_PER_GROUP // size)
        groups += [_encode(alike[at : at + step]) for at in range(0, len(alike), step)]
    return groups


def decode_group(
    group: Group, metrics: Set[str] | None = None, takes: Callable[[str], bool] | None = None
) -> list[DecodedGroup]:
    """The numbers of a group from an untrusted sender, by entity; only what is asked for. WireError on any flaw."""
    return list(decode_matrix(group).views(metrics, takes))


def decode_matrix(group: Group) -> Matrix:
    """The numbers of a group from an untrusted sender, checked to the last one. WireError on any flaw."""
    where = _where(group)
    size = group.rows * group.count
    if not 1 <= group.count <= MAX_POINTS_PER_GROUP or size > MAX_VALUES_PER_GROUP:
        raise WireError(f"{where}: {group.rows} series of count {group.count} are more than a group may hold")
    times = _decode_times(group, where)
    for name in group.metrics:
        if name not in BY_NAME:
            raise WireError(f"{where}, column {name[:80]}: the catalogue has no such metric")
    quanta = _decompress(group.data, size, f"{where}: data").reshape(group.rows, group.count)
    if quanta.min() < -MAX_QUANTA or quanta.max() > MAX_QUANTA:
        raise WireError(f"{where}: a value is beyond +-2^53 quanta")
    for row, runs in group.missing.items():
        _check_runs(group, row, runs, where)
    return Matrix(group.entities, group.metrics, times, quanta, group.missing)


def _where(group: Group) -> str:
    more = f" and {len(group.entities) - 1} more" if len(group.entities) > 1 else ""
    return f"group {group.entities[0][:80]}{more}"


def _check(part: Columns) -> None:
    if not 1 <= part.times.size <= MAX_POINTS_PER_GROUP:
        raise WireError(f"group {part.entity}: {part.times.size} points; 1 to {MAX_POINTS_PER_GROUP} fit into a group")
    for name, values in part.values.items():
        if values.size != part.times.size:
            raise WireError(f"group {part.entity}, column {name}: {values.size} values for {part.times.size} times")


def _encode(parts: Sequence[Columns]) -> Group:
    metrics = list(parts[0].values)
    times = parts[0].times
    steps = np.array([BY_NAME[name].quantum for name in metrics])
    values = np.array([[part.values[name] for name in metrics] for part in parts])
    quanta = np.rint(values / steps[:, np.newaxis]).reshape(-1, times.size)
    values = values.reshape(-1, times.size)
    absent = ~(np.abs(quanta) <= MAX_QUANTA)
    missing: dict[int, list[MissingRun]] = {}
    for row in np.flatnonzero(absent.any(axis=1)).tolist():
        part, name = parts[row // len(metrics)], metrics[row % len(metrics)]
        missing[row] = _runs(values[row], absent[row], part.reasons.get(name, {}))
        quanta[row] = _filled(quanta[row], absent[row])
    return Group(
        entities=[part.entity for part in parts],
        metrics=metrics,
        count=times.size,
        times=_compress(times),
        data=_compress(quanta.astype(np.int64)),
        missing=missing,
    )


def _filled(quanta: Floats, absent: npt.NDArray[np.bool_]) -> Floats:
    """Missing positions repeat the value before them (the first ones the first value): it costs the fewest bytes."""
    if absent.all():
        return np.zeros(quanta.size)
    last = np.maximum.accumulate(np.where(absent, -1, np.arange(quanta.size)))
    last[last < 0] = int(np.argmin(absent))
    return quanta[last]


def _runs(values: Floats, absent: npt.NDArray[np.bool_], reasons: Mapping[int, str]) -> list[MissingRun]:
    runs: list[MissingRun] = []
    for position in np.flatnonzero(absent).tolist():
        fallback = DEFAULT_REASON if np.isnan(values[position]) else "out_of_range"
        reason = reasons.get(position) or fallback
        if runs and runs[-1].reason == reason and runs[-1].start + runs[-1].count == position:
            runs[-1].count += 1
        else:
            runs.append(MissingRun(start=position, count=1, reason=reason))
    return runs


def _decode_times(group: Group, where: str) -> Ints:
    times = _decompress(group.times, group.count, f"{where}: times")
    if times[0] < 0 or (np.diff(times) <= 0).any() or times[-1] < times[0]:
        raise WireError(f"{where}: times do not ascend")
    return times


def _check_runs(group: Group, row: int, runs: Sequence[MissingRun], where: str) -> None:
    if row >= group.rows:
        raise WireError(f"{where}: missing runs for row {row} of {group.rows}")
    end = 0
    for run in runs:
        if run.start < end or run.count < 1 or run.start + run.count > group.count:
            raise WireError(f"{where}: missing run {run.start}+{run.count} overlaps or leaves 0..{group.count}")
        end = run.start + run.count


def _compress(values: Ints) -> bytes:
    return bytes(standalone.simple_compress(np.ascontiguousarray(values, dtype=np.int64).ravel(), _CONFIG))


def _decompress(data: bytes, count: int, where: str) -> Ints:
    if len(data) > MAX_OVERHEAD_BYTES + MAX_BYTES_PER_VALUE * count:
        raise WireError(f"{where}: {len(data)} bytes are too many for {count} values")
    out = np.zeros(count, dtype=np.int64)
    try:
        progress = standalone.simple_decompress_into(data, out)
    except (RuntimeError, TypeError, ValueError, OverflowError, MemoryError) as error:
        raise WireError(f"{where}: not a whole pcodec int64 column ({error})") from error
    except BaseException as error:
        # A panic in Rust reaches Python as pyo3's PanicException, a BaseException that cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise WireError(f"{where}: not a pcodec column (the decoder panicked)") from error
    if progress.n_processed != count or not progress.finished:
        raise WireError(
            f"{where}: holds {'more' if not progress.finished else 'fewer'} values than the {count} announced"
        )
    return out
