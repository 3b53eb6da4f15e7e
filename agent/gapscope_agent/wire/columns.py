"""Columns of a group: float64 with NaN on either side, pcodec int64 in quanta of the catalogue between.

Decoding trusts nothing: a few kB of pcodec can claim hundreds of MB, so every column is decoded into a buffer of the
announced count, which ``messages`` bounds, and must fill it exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pcodec import ChunkConfig, standalone

from gapscope_agent.catalog import BY_NAME
from gapscope_agent.wire.errors import WireError
from gapscope_agent.wire.messages import MAX_POINTS_PER_GROUP, MAX_QUANTA, Column, Group, MissingRun

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Reasons = Mapping[str, Mapping[int, str]]
"""Metric to (position to the reason why the value there is missing)."""

DEFAULT_REASON = "no_value"
MAX_OVERHEAD_BYTES, MAX_BYTES_PER_VALUE = 1024, 16
"""No pcodec column is larger; what follows the end of one would be stored with it."""
_CONFIG = ChunkConfig(compression_level=4)
"""For columns of 250 values at most, level 8 gives the same bytes in twice the time."""


@dataclass(frozen=True)
class DecodedGroup:
    """A group as numbers: ``times`` int64[n] ns ascending; ``values`` float64[n] each, NaN where ``missing`` says."""

    entity: str
    times: Ints
    values: dict[str, Floats]
    missing: dict[str, list[MissingRun]]


def encode_group(entity: str, times: Ints, columns: Mapping[str, Floats], reasons: Reasons | None = None) -> Group:
    """A wire group from float columns of ``len(times)`` values each; a NaN needs no reason but should have one."""
    if not 1 <= times.size <= MAX_POINTS_PER_GROUP:
        raise WireError(f"group {entity}: {times.size} points; 1 to {MAX_POINTS_PER_GROUP} fit into a group")
    given = reasons or {}
    encoded = [
        _encode_column(entity, times.size, name, values, given.get(name, {})) for name, values in columns.items()
    ]
    return Group(entity=entity, count=times.size, times=_compress(times), columns=encoded)


def decode_group(group: Group, metrics: Set[str] | None = None) -> DecodedGroup:
    """The numbers of a group from an untrusted sender; with ``metrics`` only those columns. WireError on any flaw."""
    times = decode_times(group)
    values: dict[str, Floats] = {}
    missing: dict[str, list[MissingRun]] = {}
    for column in group.columns:
        if metrics is None or column.metric in metrics:
            values[column.metric] = _decode_column(group, column)
            missing[column.metric] = column.missing
    return DecodedGroup(group.entity, times, values, missing)


def decode_times(group: Group) -> Ints:
    """The checked timestamps of a group: int64[count], ns since the epoch, strictly ascending."""
    where = f"group {group.entity}: times"
    times = _decompress(group.times, group.count, where)
    if times[0] < 0 or (np.diff(times) <= 0).any() or times[-1] < times[0]:
        raise WireError(f"{where} do not ascend")
    return times


def _encode_column(entity: str, count: int, name: str, values: Floats, reasons: Mapping[int, str]) -> Column:
    if values.size != count:
        raise WireError(f"group {entity}, column {name}: {values.size} values for {count} times")
    quanta = np.rint(values / BY_NAME[name].quantum)
    absent = ~(np.abs(quanta) <= MAX_QUANTA)
    if not absent.any():
        return Column(metric=name, data=_compress(quanta.astype(np.int64)))
    return Column(metric=name, data=_compress(_filled(quanta, absent)), missing=_runs(values, absent, reasons))


def _filled(quanta: Floats, absent: npt.NDArray[np.bool_]) -> Ints:
    """Missing positions repeat the value before them (the first ones the first value): it costs the fewest bytes."""
    if absent.all():
        return np.zeros(quanta.size, dtype=np.int64)
    last = np.maximum.accumulate(np.where(absent, -1, np.arange(quanta.size)))
    last[last < 0] = int(np.argmin(absent))
    return quanta[last].astype(np.int64)


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


def _decode_column(group: Group, column: Column) -> Floats:
    where = f"group {group.entity}, column {column.metric}"
    metric = BY_NAME.get(column.metric)
    if metric is None:
        raise WireError(f"{where}: the catalogue has no such metric")
    quanta = _decompress(column.data, group.count, where)
    if quanta.min() < -MAX_QUANTA or quanta.max() > MAX_QUANTA:
        raise WireError(f"{where}: a value is beyond +-2^53 quanta")
    values: Floats = np.asarray(quanta * metric.quantum, dtype=np.float64)
    end = 0
    for run in column.missing:
        if run.start < end or run.count < 1 or run.start + run.count > group.count:
            raise WireError(f"{where}: missing run {run.start}+{run.count} overlaps or leaves 0..{group.count}")
        end = run.start + run.count
        values[run.start : end] = np.nan
    return values


def _compress(values: Ints) -> bytes:
    return bytes(standalone.simple_compress(np.ascontiguousarray(values, dtype=np.int64), _CONFIG))


def _decompress(data: bytes, count: int, where: str) -> Ints:
    if not 1 <= count <= MAX_POINTS_PER_GROUP:
        raise WireError(f"{where}: count {count} is outside 1..{MAX_POINTS_PER_GROUP}")
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
