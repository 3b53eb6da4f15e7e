"""Integers in few bytes: pcodec for what varies, a plain number for a row that does not.

Half of all series of an idle or steady host are constant for minutes; they cost a byte or two. The rest of a matrix
goes through pcodec in one go, which compresses as well as row by row and takes a third of the time.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from pcodec import ChunkConfig, standalone

from gapscope_backend.errors import StoreError

Ints = npt.NDArray[np.int64]

CONFIG = ChunkConfig(compression_level=8)
FEW = 24
"""Below this number of values pcodec's own header is longer than the plain differences."""
MAX_VALUES = 1 << 26
PAGE = 256
"""pcodec decodes whole runs of so many values."""


class Packed(msgspec.Struct, array_like=True):
    """A matrix: ``constants`` by row (None where a row varies), then either ``few`` differences or ``length`` bytes."""

    constants: list[int | None]
    few: list[int]
    length: int


class Writer:
    """Collects the bytes that stand behind a chunk's head."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def pack(self, matrix: Ints) -> Packed:
        """Add a matrix int64[rows, n]."""
        first = matrix[:, 0]
        varies = (matrix != first[:, np.newaxis]).any(axis=1)
        constants = [None if moves else value for moves, value in zip(varies.tolist(), first.tolist(), strict=True)]
        rest = matrix[varies]
        if rest.size <= FEW:
            return Packed(constants, np.diff(rest.ravel(), prepend=0).tolist(), 0)
        data = bytes(standalone.simple_compress(np.ascontiguousarray(rest).ravel(), CONFIG))
        self._parts.append(data)
        return Packed(constants, [], len(data))

    def bytes(self) -> bytes:
        """All of it, in order."""
        return b"".join(self._parts)


class Reader:
    """Gives the matrices back, in the order in which they were packed."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at

    def skip(self, *packed: Packed) -> None:
        """Pass over matrices that nobody asked for."""
        self._at += sum(one.length for one in packed)

    def unpack(self, packed: Packed, count: int, kept: Sequence[int] | None = None) -> Ints:
        """The matrix int64[rows, count], or the ``kept`` ones of its rows."""
        rows = len(packed.constants)
        if not 0 < count * max(rows, 1) <= MAX_VALUES:
            raise StoreError(f"a chunk announces {rows} rows of {count} values; the database is damaged")
        wanted = range(rows) if kept is None else kept
        out = np.empty((len(wanted), count), dtype=np.int64)
        stored = list(itertools.accumulate(value is None for value in packed.constants))
        varying: list[tuple[int, int]] = []
        for at, row in enumerate(wanted):
            value = packed.constants[row]
            if value is None:
                varying.append((at, stored[row] - 1))
            else:
                out[at] = value
        if not varying:
            self.skip(packed)
            return out
        rest = self._rest(packed, stored[-1] * count, (1 + max(place for _, place in varying)) * count)
        for at, place in varying:
            out[at] = rest[place * count : (place + 1) * count]
        return out

    def _rest(self, packed: Packed, size: int, needed: int) -> Ints:
        """What varies, int64[size]; only its first ``needed`` values where no later one is asked for."""
        if not packed.length:
            return np.cumsum(_exactly(packed.few, size))
        room = min(size, -(-needed // PAGE) * PAGE)
        rest = np.empty(room, dtype=np.int64)
        data = self._data[self._at : self._at + packed.length]
        self._at += packed.length
        progress = standalone.simple_decompress_into(data, rest)
        if progress.n_processed != room or progress.finished != (room == size):
            raise StoreError(f"a chunk holds other than the {size} values that it announces; the database is damaged")
        return rest


def _exactly(values: Sequence[int], size: int) -> Ints:
    if len(values) != size:
        raise StoreError(f"a chunk holds {len(values)} values, not {size}; the database is damaged")
    return np.array(values, dtype=np.int64)
