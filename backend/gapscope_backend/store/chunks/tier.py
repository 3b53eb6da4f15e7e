"""The bytes of a tier's chunk: buckets of a group of entities over an hour or a day.

Kept as differences that are zero for a steady series: maximum less minimum, sum less minimum times count, and counts
less those of the first series.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from gapscope_agent.catalog import BY_NAME
from gapscope_backend.errors import StoreError
from gapscope_backend.store.chunks.block import Row
from gapscope_backend.store.chunks.packing import Packed, Reader, Writer
from gapscope_backend.store.chunks.raw import CODEC, RunsOf, assemble, name_rows, number_rows, take_apart
from gapscope_backend.store.chunks.rollup import Rolled


class RolledHead(msgspec.Struct, array_like=True):
    """Buckets; ``rows`` holds the entities of all rows, as numbers, and then their metrics."""

    count: int
    rows: list[int]
    times: Packed
    first_counts: Packed
    counts: Packed
    minimum: Packed
    spread: Packed
    excess: Packed
    idle: Packed
    missing: list[RunsOf]


class TierHead(msgspec.Struct, array_like=True):
    """A chunk of a tier."""

    entities: list[str]
    parts: list[RolledHead]


_DECODER = msgspec.msgpack.Decoder(TierHead)


def encode_tier(parts: Sequence[Rolled], names: Sequence[str]) -> bytes:
    """The bytes; ``names`` are the metrics of the chunk's metric set."""
    numbers = {name: at for at, name in enumerate(names)}
    entities: dict[str, int] = {}
    writer = Writer()
    heads = []
    for part in parts:
        first = part.counts[:1]
        ratios = _ratio_rows(part.rows)
        heads.append(
            RolledHead(
                count=part.times.size,
                rows=number_rows(part.rows, entities, numbers),
                times=writer.pack(part.times[np.newaxis]),
                first_counts=writer.pack(first),
                counts=writer.pack(part.counts - first),
                minimum=writer.pack(part.minimum),
                spread=writer.pack(part.maximum - part.minimum),
                excess=writer.pack(part.total - part.minimum * part.counts),
                idle=writer.pack(part.idle[ratios]),
                missing=[RunsOf(row, list(runs)) for row, runs in sorted(part.missing.items())],
            )
        )
    return assemble(msgspec.msgpack.encode(TierHead(list(entities), heads)), writer)


def decode_tier(
    data: bytes, names: Sequence[str], takes: Callable[[Row], bool] | None = None, codec: str = CODEC
) -> list[Rolled]:
    """The buckets, of all series or of those that are taken. Raises StoreError for bytes that are no chunk."""
    packed, reader = take_apart(data)
    try:
        head = _DECODER.decode(packed)
    except msgspec.DecodeError as error:
        raise StoreError(f"a chunk's head cannot be read ({error}); the database is damaged") from error
    series = [name_rows(part.rows, head.entities, names, codec) for part in head.parts]
    parts = [_decode(part, rows, reader, takes) for part, rows in zip(head.parts, series, strict=True)]
    return [part for part in parts if part.rows]


def _decode(part: RolledHead, stored: tuple[Row, ...], reader: Reader, takes: Callable[[Row], bool] | None) -> Rolled:
    kept = [at for at, row in enumerate(stored) if takes is None or takes(row)]
    rows = tuple(stored[at] for at in kept)
    times = reader.unpack(part.times, part.count)[0]
    first = reader.unpack(part.first_counts, part.count)
    counts = reader.unpack(part.counts, part.count, kept) + first
    minimum = reader.unpack(part.minimum, part.count, kept)
    maximum = reader.unpack(part.spread, part.count, kept) + minimum
    total = reader.unpack(part.excess, part.count, kept) + minimum * counts
    idle = np.zeros(counts.shape, dtype=np.int64)
    places = {at: place for place, at in enumerate(_ratio_rows(stored))}
    ratios = [at for at in kept if at in places]
    idle[[at in places for at in kept]] = reader.unpack(part.idle, part.count, [places[at] for at in ratios])
    stats = np.stack([counts, minimum, maximum, total, idle])
    numbers = {row: at for at, row in enumerate(kept)}
    missing = {numbers[one.row]: one.runs for one in part.missing if one.row in numbers}
    return Rolled(rows, times, stats, missing)


def _ratio_rows(rows: Sequence[tuple[str, str]]) -> list[int]:
    return [at for at, (_, metric) in enumerate(rows) if BY_NAME[metric].kind == "ratio"]
