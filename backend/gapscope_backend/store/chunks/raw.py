"""The bytes of a raw chunk: all samples of a group of entities over a slot.

A head (msgpack, deflated) says what is there, the packed matrices follow it. Metric names and their quanta are not in
it: they stand once in the table of metric sets, as the same hundred names would else be in every chunk.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from gapscope_agent.wire import Entity, MissingRun
from gapscope_backend.errors import StoreError
from gapscope_backend.store.chunks.block import Block, Row
from gapscope_backend.store.chunks.packing import Packed, Reader, Writer
from gapscope_backend.store.inflate import inflate

CODEC = "pco2"
"""Of raw chunks and tiers; another way of writing them gets another name."""
PAIRED = "pco1"
"""The way before it, still read: entity and metric of a row stood side by side."""
_LENGTH_BYTES = 4
MAX_HEAD_BYTES = 1 << 26
"""Of what is in front of the matrices, inflated; a head of ten thousand series has a tenth of it."""


class RunsOf(msgspec.Struct, array_like=True):
    """Where a row has no value, and why."""

    row: int
    runs: list[MissingRun]


class BlockHead(msgspec.Struct, array_like=True):
    """A block; ``rows`` holds the entities of all rows, as numbers, and then their metrics."""

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
        rows = number_rows(block.rows, entities, numbers)
        missing = [RunsOf(row, list(runs)) for row, runs in sorted(block.missing.items())]
        times = writer.pack(block.times[np.newaxis])
        heads.append(BlockHead(block.times.size, rows, times, writer.pack(block.quanta), missing))
    return assemble(msgspec.msgpack.encode(Head(list(entities), heads, list(told))), writer)


def decode_raw(data: bytes, names: Sequence[str], codec: str = CODEC) -> tuple[list[Block], list[Entity]]:
    """Blocks and facts. Raises StoreError for bytes that are no chunk."""
    packed, reader = take_apart(data)
    try:
        head = _DECODER.decode(packed)
    except msgspec.DecodeError as error:
        raise StoreError(f"a chunk's head cannot be read ({error}); the database is damaged") from error
    blocks = []
    for block in head.blocks:
        rows = name_rows(block.rows, head.entities, names, codec)
        times = reader.unpack(block.times, block.count)[0]
        quanta = reader.unpack(block.quanta, block.count)
        blocks.append(Block(rows, times, quanta, {one.row: one.runs for one in block.missing}))
    return blocks, head.told


def number_rows(rows: Sequence[Row], entities: dict[str, int], metrics: Mapping[str, int]) -> list[int]:
    """Series as numbers; entities that have none yet get the next ones."""
    return [*(entities.setdefault(entity, len(entities)) for entity, _ in rows), *(metrics[name] for _, name in rows)]


def name_rows(numbers: Sequence[int], entities: Sequence[str], metrics: Sequence[str], codec: str) -> tuple[Row, ...]:
    """The series that numbers stand for. Raises StoreError for a codec that is not known here."""
    if codec not in (CODEC, PAIRED):
        raise StoreError(f"a chunk is written as {codec[:20]!r}, which is not known here; upgrade this Gapscope")
    half = len(numbers) // 2
    first, second = (numbers[:half], numbers[half:]) if codec == CODEC else (numbers[::2], numbers[1::2])
    try:
        return tuple((entities[entity], metrics[name]) for entity, name in zip(first, second, strict=True))
    except (IndexError, ValueError) as error:
        raise StoreError("a chunk's head names series that it does not hold; the database is damaged") from error


def assemble(head: bytes, writer: Writer) -> bytes:
    """Length of the deflated head, the head, the matrices."""
    deflated = zlib.compress(head, 6)
    return len(deflated).to_bytes(_LENGTH_BYTES, "little") + deflated + writer.bytes()


def take_apart(data: bytes) -> tuple[bytes, Reader]:
    """The head and a reader of what follows."""
    end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    return inflate(data[_LENGTH_BYTES:end], MAX_HEAD_BYTES), Reader(data, end)
