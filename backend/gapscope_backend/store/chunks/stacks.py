"""The bytes of stack samples of a process: columns of integers, stacks and thread names by number.

A stack is its frames, innermost first; its id is a hash of them, so that every writer finds the same one without
asking. About half a byte a sample.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from gapscope_agent.wire import StackSample, WireFrame
from gapscope_backend.errors import StoreError
from gapscope_backend.store.chunks.packing import Packed, Writer
from gapscope_backend.store.chunks.raw import assemble, take_apart
from gapscope_backend.store.inflate import inflate

Ints = npt.NDArray[np.int64]
Frames = tuple[WireFrame, ...]
Thread = tuple[int, int]
"""pid and tid"""
Known = TypeVar("Known", bound=Hashable)

CODEC = "pco1"
"""Of chunks of stack samples."""
_FLAG = {None: -1, False: 0, True: 1}
MAX_STACK_BYTES = 1 << 24
"""A stack's frames, inflated."""
_FRAMES = msgspec.msgpack.Decoder(list[WireFrame])


@dataclass(frozen=True)
class StackTable(Generic[Known]):
    """Stack samples: ``rows`` int64[n, 6] of time (ns), pid, tid, active, owns_gil (-1 unknown, 0, 1), stack.

    ``stack`` counts in ``stacks``, which are the frames themselves or their ids; ``names`` are those of threads.
    """

    rows: Ints
    stacks: Sequence[Known]
    names: Mapping[Thread, str]


class StackHead(msgspec.Struct, array_like=True):
    """A chunk of samples of one process; ``names`` holds tid and name one after the other."""

    count: int
    tids: list[int]
    names: list[tuple[int, str]]
    stack_ids: list[int]
    columns: list[Packed]


_DECODER = msgspec.msgpack.Decoder(StackHead)


def table_of(
    frames: Sequence[WireFrame], stacks: Sequence[Sequence[int]], samples: Sequence[StackSample]
) -> StackTable[Frames]:
    """The stacks of a batch from the wire."""
    rows = [(s.t, s.pid, s.tid, _FLAG[s.active], _FLAG[s.owns_gil], s.stack) for s in samples]
    names = {(sample.pid, sample.tid): sample.thread for sample in samples if sample.thread}
    known = [tuple(frames[at] for at in stack) for stack in stacks]
    return StackTable(np.array(rows, dtype=np.int64).reshape(-1, 6), known, names)


def join_stacks(tables: Sequence[StackTable[Known]]) -> StackTable[Known]:
    """All samples in order of time, those of one moment in the order of the tables; stacks in one numbering."""
    numbers: dict[Known, int] = {}
    seen: dict[int, int] = {}  # by identity: tables read together share their stacks, and hashing one takes long
    parts = []
    for table in tables:
        for stack in table.stacks:
            if id(stack) not in seen:
                seen[id(stack)] = numbers.setdefault(stack, len(numbers))
        own = np.array([seen[id(stack)] for stack in table.stacks], dtype=np.int64)
        rows = table.rows
        if (own != np.arange(own.size)).any():
            rows = rows.copy()
            rows[:, 5] = own[rows[:, 5]]
        parts.append(rows)
    rows = np.concatenate(parts) if parts else np.empty((0, 6), dtype=np.int64)
    times = rows[:, 0]
    if (np.diff(times) < 0).any():
        # Tables of single processes, ascending each: merging the runs is far cheaper than sorting by three columns.
        rows = rows[np.argsort(times, kind="stable")]
    return StackTable(rows, list(numbers), {key: name for table in tables for key, name in table.names.items()})


def stack_id(frames: Frames) -> tuple[int, bytes]:
    """Id of a stack and the bytes under which its frames are kept."""
    packed = msgspec.msgpack.encode(frames)
    digest = hashlib.blake2b(packed, digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1, zlib.compress(packed, 6)


def frames_of(data: bytes) -> Frames:
    """The frames of a stored stack."""
    return tuple(_FRAMES.decode(inflate(data, MAX_STACK_BYTES)))


def by_id(table: StackTable[Frames]) -> tuple[StackTable[int], dict[int, bytes]]:
    """The samples with ids for their stacks, and the bytes of each stack by its id."""
    kept = [stack_id(stack) for stack in table.stacks]
    return StackTable(table.rows, [number for number, _ in kept], table.names), dict(kept)


def encode_stacks(table: StackTable[int]) -> bytes:
    """The bytes of the samples of one process."""
    used, stack = np.unique(table.rows[:, 5], return_inverse=True)
    tids, tid = np.unique(table.rows[:, 2], return_inverse=True)
    columns = (table.rows[:, 0], tid, table.rows[:, 3], table.rows[:, 4], stack)
    writer = Writer()
    head = StackHead(
        count=len(table.rows),
        tids=tids.tolist(),
        names=sorted((tid, name) for (_, tid), name in table.names.items()),
        stack_ids=[table.stacks[at] for at in used.tolist()],
        columns=[writer.pack(np.asarray(column, dtype=np.int64)[np.newaxis]) for column in columns],
    )
    return assemble(msgspec.msgpack.encode(head), writer)


def decode_stacks(data: bytes, pid: int) -> StackTable[int]:
    """The samples of one process. Raises StoreError for bytes that are no chunk."""
    packed, reader = take_apart(data)
    try:
        head = _DECODER.decode(packed)
    except msgspec.DecodeError as error:
        raise StoreError(f"a chunk's head cannot be read ({error}); the database is damaged") from error
    times, tid, active, gil, stack = (reader.unpack(column, head.count)[0] for column in head.columns)
    pids = np.full(head.count, pid, dtype=np.int64)
    rows = np.stack([times, pids, np.array(head.tids, dtype=np.int64)[tid], active, gil, stack], axis=1)
    return StackTable(rows, head.stack_ids, {(pid, tid): name for tid, name in head.names})
