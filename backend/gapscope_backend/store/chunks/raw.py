"""The bytes of a raw chunk: all samples of a group of entities over a slot.

A head (msgpack, deflated) says what is there, the packed matrices follow it. Metric names and their quanta are not in
it: they stand once in the table of metric sets, as the same hundred names would else be in every chunk.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import msgspec
import numpy as np

from gapscope_agent.wire import Entity, MissingRun
from gapscope_backend.errors import StoreError
from gapscope_backend.store.chunks.block import Block
from gapscope_backend.store.chunks.packing import Packed, Reader, Writer
from gapscope_backend.store.inflate import inflate

CODEC = "pco1"
"""Of raw chunks and tiers; another way of writing them gets another name."""
_LENGTH_BYTES = 4
MAX_HEAD_BYTES = 1 << 26
"""Of what is in front of the matrices, inflated; a head of ten thousand series has a tenth of it."""


class RunsOf(msgspec.Struct, array_like=True):
    """Where a row has no value, and why."""

    row: int
    runs: list[MissingRun]


class BlockHead(msgspec.Struct, array_like=True):
    """A block; ``rows`` holds entity and metric of each row one after the other, as numbers."""

    count: int
    rows: list[int]
    times: Packed
    quanta: Packed
    missing: list[RunsOf]


class Head(msgspec.Struct, array_like=True):
    """A raw chunk; ``told`` are facts of entities that may change within a slot."""

    entities: list[str]
    blocks: list[BlockHead]
    told: list[Entity]


_DECODER = msgspec.msgpack.Decoder(Head)


def encode_raw(blocks: Sequence[Block], told: Sequence[Entity], names: Sequence[str]) -> bytes:
    """The bytes; ``names`` are the metrics of the chunk's metric set."""
    numbers = {name: at for at, name in enumerate(names)}
    entities: dict[str, int] = {}
    writer = Writer()
    heads = []
    for block in blocks:
        rows = [n for e, m in block.rows for n in (entities.setdefault(e, len(entities)), numbers[m])]
        missing = [RunsOf(row, list(runs)) for row, runs in sorted(block.missing.items())]
        times = writer.pack(block.times[np.newaxis])
        heads.append(BlockHead(block.times.size, rows, times, writer.pack(block.quanta), missing))
    return assemble(msgspec.msgpack.encode(Head(list(entities), heads, list(told))), writer)


def decode_raw(data: bytes, names: Sequence[str]) -> tuple[list[Block], list[Entity]]:
    """Blocks and facts. Raises StoreError for bytes that are no chunk."""
    packed, reader = take_apart(data)
    try:
        head = _DECODER.decode(packed)
    except msgspec.DecodeError as error:
        raise StoreError(f"a chunk's head cannot be read ({error}); the database is damaged") from error
    blocks = []
    for block in head.blocks:
        pairs = zip(block.rows[::2], block.rows[1::2], strict=True)
        rows = tuple((head.entities[entity], names[metric]) for entity, metric in pairs)
        times = reader.unpack(block.times, block.count)[0]
        quanta = reader.unpack(block.quanta, block.count)
        blocks.append(Block(rows, times, quanta, {one.row: one.runs for one in block.missing}))
    return blocks, head.told


def assemble(head: bytes, writer: Writer) -> bytes:
    """Length of the deflated head, the head, the matrices."""
    deflated = zlib.compress(head, 6)
    return len(deflated).to_bytes(_LENGTH_BYTES, "little") + deflated + writer.bytes()


def take_apart(data: bytes) -> tuple[bytes, Reader]:
    """The head and a reader of what follows."""
    end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    return inflate(data[_LENGTH_BYTES:end], MAX_HEAD_BYTES), Reader(data, end)
