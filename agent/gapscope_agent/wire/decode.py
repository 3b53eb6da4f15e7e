"""The door of the backend: bytes from anywhere to a Batch that keeps the contract, in bounded memory and time."""

from __future__ import annotations

import math
import re
from functools import lru_cache

import msgspec

from gapscope_agent.catalog import BY_NAME, METRICS
from gapscope_agent.wire.columns import DecodedGroup, Matrix, decode_matrix
from gapscope_agent.wire.errors import WireError, WireVersionError
from gapscope_agent.wire.messages import (
    HOST_PATTERN,
    MAX_BATCH_BYTES,
    MAX_COLUMNS,
    MAX_GROUPS,
    MAX_SPAN_NS,
    MAX_STACK_SAMPLES,
    MAX_VALUES_PER_BATCH,
    WIRE_VERSION,
    Batch,
    Entity,
    Group,
    LiveFrame,
)

ENTITY_KINDS = frozenset(metric.entity for metric in METRICS)
_HOST = re.compile(HOST_PATTERN)


KEY_FORMS = {
    "core": re.compile(r"[0-9]{1,6}"),
    "process": re.compile(r"[0-9]{1,10}"),
    "thread": re.compile(r"[0-9]{1,10}/[0-9]{1,10}"),
}
INTEGER_LABELS = frozenset(
    {"index", "logical_cpus", "pid", "parent_pid", "tid", "pcie_max_generation", "pcie_max_width"}
)
NUMBER_SUFFIXES = ("_bytes", "_watts", "_hertz")
MAX_LABEL_NUMBER = 1e18


class _Head(msgspec.Struct):
    version: int


_HEAD = msgspec.msgpack.Decoder(_Head)
_BATCH = msgspec.msgpack.Decoder(Batch)
_LIVE = msgspec.msgpack.Decoder(LiveFrame)


def decode_batch(payload: bytes) -> Batch:
    """A batch that passed ``validate_batch``; its columns are still compressed (``decode_groups`` checks them)."""
    if len(payload) > MAX_BATCH_BYTES:
        raise WireError(f"batch of {len(payload)} bytes; at most {MAX_BATCH_BYTES} are taken")
    try:
        _check_version(_HEAD.decode(payload).version)
        batch = _BATCH.decode(payload)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise WireError(f"not a batch: {error}") from error
    validate_batch(batch)
    return batch


def decode_live_frame(payload: bytes) -> LiveFrame:
    """A live frame from an untrusted agent."""
    try:
        return _LIVE.decode(payload)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise WireError(f"not a live frame: {error}") from error


def decode_groups(batch: Batch) -> list[DecodedGroup]:
    """Every series as numbers, by entity, checked to the last value, timestamps within the batch's span."""
    return [view for group in batch.groups for view in decode_batch_matrix(batch, group).views(None, None)]


def decode_batch_matrix(batch: Batch, group: Group) -> Matrix:
    """One group of a batch as numbers; its timestamps must lie in [start_ns, end_ns)."""
    decoded = decode_matrix(group)
    if decoded.times[0] < batch.start_ns or decoded.times[-1] >= batch.end_ns:
        raise WireError(f"group {group.entities[0]}: times leave the batch's span {batch.start_ns}..{batch.end_ns}")
    return decoded


def validate_batch(batch: Batch) -> None:
    """Check all that can be checked without decompressing; WireError (or WireVersionError) says what and where."""
    _check_version(batch.version)
    if not _HOST.match(batch.host):
        raise WireError(f"host {batch.host[:80]!r}: letters, digits, '.', '_', '-' only, at most 253")
    if not 0 < batch.end_ns - batch.start_ns <= MAX_SPAN_NS:
        raise WireError(f"span {batch.start_ns}..{batch.end_ns} is empty or longer than {MAX_SPAN_NS // 10**9} s")
    _check_entities(batch)
    _check_groups(batch)
    _check_stacks(batch)
    for event in batch.events:
        _check_time(batch, event.t, f"event {event.kind}")


def _check_version(version: int) -> None:
    if version != WIRE_VERSION:
        raise WireVersionError(f"wire version {version} is not known here, only {WIRE_VERSION}; upgrade the older side")


def _check_entities(batch: Batch) -> None:
    for entity in batch.entities:
        if _kind(entity.key) != entity.kind:
            raise WireError(f"entity {entity.key[:80]!r}: kind {entity.kind[:80]!r} does not match its key")
        _check_labels(entity)


def _check_groups(batch: Batch) -> None:
    if len(batch.groups) > MAX_GROUPS:
        raise WireError(f"{len(batch.groups)} groups; at most {MAX_GROUPS} fit into a batch")
    columns = sum(group.rows for group in batch.groups)
    if columns > MAX_COLUMNS:
        raise WireError(f"{columns} columns; at most {MAX_COLUMNS} fit into a batch")
    values = count_values(batch)
    if values > MAX_VALUES_PER_BATCH:
        raise WireError(f"{values} values announced; at most {MAX_VALUES_PER_BATCH} fit into a batch")
    for group in batch.groups:
        _check_columns(group)


def count_values(batch: Batch) -> int:
    """Values of a batch as the accounting counts them: positions of all columns, those with no value included."""
    return sum(group.count * group.rows for group in batch.groups)


def _check_columns(group: Group) -> None:
    kinds = {_kind(entity) for entity in group.entities}
    if len(set(group.entities)) < len(group.entities):
        raise WireError(f"group {group.entities[0]}: an entity stands twice")
    if len(set(group.metrics)) < len(group.metrics):
        raise WireError(f"group {group.entities[0]}: a column stands twice")
    for name in group.metrics:
        metric = BY_NAME.get(name)
        if metric is None or kinds != {metric.entity}:
            raise WireError(f"group {group.entities[0]}: no metric {name[:80]!r} of its kind in the catalogue")


@lru_cache(maxsize=65536)
def _kind(key: str) -> str:
    """Kind of an entity key: the part before the colon; WireError when no such kind of entity exists."""
    kind, colon, rest = key.partition(":")
    if kind not in ENTITY_KINDS or (kind == "host") == bool(colon) or bool(colon) != bool(rest):
        raise WireError(f"entity key {key[:80]!r}: want host, gpu:<uuid>, core:<n>, process:<pid> or the like")
    form = KEY_FORMS.get(kind)
    if form and not form.fullmatch(rest):
        raise WireError(f"entity key {key[:80]!r}: {kind} wants {form.pattern} after the colon")
    return kind


def _check_labels(entity: Entity) -> None:
    """Labels that stand for numbers are numbers, of a size that arithmetic can bear."""
    for name, text in entity.labels.items():
        if name not in INTEGER_LABELS and not name.endswith(NUMBER_SUFFIXES):
            continue
        try:
            value = float(text) if name not in INTEGER_LABELS else float(int(text))
        except (ValueError, OverflowError):
            value = math.nan
        if not abs(value) <= MAX_LABEL_NUMBER:
            raise WireError(f"entity {entity.key[:80]!r}: label {name} = {text[:40]!r} is not a number up to 1e18")


def _check_stacks(batch: Batch) -> None:
    if len(batch.samples) > MAX_STACK_SAMPLES:
        raise WireError(f"{len(batch.samples)} stack samples; at most {MAX_STACK_SAMPLES} fit into a batch")
    frames = len(batch.frames)
    for number, stack in enumerate(batch.stacks):
        if stack and not (min(stack) >= 0 and max(stack) < frames):
            raise WireError(f"stack {number}: a frame index is outside 0..{frames - 1}")
    for sample in batch.samples:
        if not 0 <= sample.stack < len(batch.stacks):
            raise WireError(f"stack sample of thread {sample.tid}: stack {sample.stack} is not in the batch")
        _check_time(batch, sample.t, f"stack sample of thread {sample.tid}")


def _check_time(batch: Batch, t: int, what: str) -> None:
    if not batch.start_ns <= t < batch.end_ns:
        raise WireError(f"{what}: time {t} leaves the batch's span {batch.start_ns}..{batch.end_ns}")
