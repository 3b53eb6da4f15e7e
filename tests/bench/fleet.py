"""Batches of a large made-up fleet at next to no cost: encoded once, then only names, numbers and times are replaced.

As agents' batches do, they travel gzipped. What does not change is deflated once too, into blocks that end on a byte;
what is replaced stands between them in stored blocks.

A host is a node of 8 GPUs and 192 cores with 16 processes of interest, about 25,000 values in 5 s. The values are
windows of real recordings; which GPU of which host shows which window is drawn at random.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt
from pcodec import ChunkConfig, standalone

from gapscope_agent.catalog import METRICS
from gapscope_agent.derive.table import DerivedGroup
from gapscope_agent.wire import (
    WIRE_VERSION,
    Accounting,
    Batch,
    Entity,
    count_values,
    decode_groups,
    encode,
    encode_groups,
)
from tests.bench.recorded import OWN, batches, folders

SPAN_NS = 5_000_000_000
GPUS, CORES, PROCESSES, THREADS = 8, 192, 16, 64
FIRST_SEQUENCE = 1 << 32
"""Numbers from here on take nine bytes each, so that one can be put in the place of another."""
HERTZ = (10, 5, 1)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Pool = dict[str, list[Floats]]

_HOST = "host-{:05d}"
_RUN = "{:016x}"
_RUN_MARK = "run-of-this-host"
_MARKS = {hertz: f"times at {hertz} hertz".encode() for hertz in HERTZ}
_NUMBERS = (FIRST_SEQUENCE + 0x01020304, 0x7A7B7C7D7E7F7071, 0x6A6B6C6D6E6F6061, 0x5A5B5C5D5E5F5051)
"""Stand for sequence, start, end and time of sending."""
_CONFIG = ChunkConfig(compression_level=4)
_GZIP_HEAD = b"\x1f\x8b\x08" + bytes(6) + b"\x03"
_LAST_BLOCK = b"\x03\x00"
"""An empty block with the mark of the last one."""


def host_name(number: int) -> str:
    """Name of a host, all of one length."""
    return _HOST.format(number)


def run_name(host: int, start: int) -> str:
    """Id of the run of a host that began as the ``start``-th, all of one length."""
    return _RUN.format(host << 32 | start)


@dataclass(frozen=True)
class Template:
    """A batch cut at what changes: ``parts`` alternate between fixed bytes and the names of what stands there."""

    values: int
    parts: tuple[bytes | str, ...]

    def body(self, host: int, run: str, sequence: int, end_ns: int) -> bytes:
        """The batch of a host over the 5 s before ``end_ns``; ``sequence`` counts from 0."""
        return b"".join(self._told(host, run, sequence, end_ns))

    def gzipped(self, host: int, run: str, sequence: int, end_ns: int) -> bytes:
        """The same as one gzip member."""
        parts = self._told(host, run, sequence, end_ns)
        blocks = [_stored(part) if fixed is None else fixed for part, fixed in zip(parts, self._deflated, strict=True)]
        whole = b"".join(parts)
        end = struct.pack("<II", zlib.crc32(whole), len(whole))
        return b"".join((_GZIP_HEAD, *blocks, _LAST_BLOCK, end))

    @cached_property
    def _deflated(self) -> tuple[bytes | None, ...]:
        """Each fixed part as deflate blocks that end on a byte."""
        return tuple(_blocks(part) if isinstance(part, bytes) else None for part in self.parts)

    def _told(self, host: int, run: str, sequence: int, end_ns: int) -> list[bytes]:
        start_ns = end_ns - SPAN_NS
        told = {
            "host": host_name(host).encode(),
            "run": run.encode(),
            "0": _long(FIRST_SEQUENCE + sequence),
            "1": _long(start_ns),
            "2": _long(end_ns),
            "3": _long(end_ns),
            **{str(_MARKS[hertz]): _times(start_ns, hertz) for hertz in HERTZ},
        }
        return [part if isinstance(part, bytes) else told[part] for part in self.parts]


def templates(count: int, seed: int = 1) -> list[Template]:
    """So many different hosts' batches."""
    pool, random = _pool(), np.random.default_rng(seed)
    return [_template(pool, random) for _ in range(count)]


def _template(pool: Pool, random: np.random.Generator) -> Template:
    batch = Batch(
        version=WIRE_VERSION,
        host=host_name(0),
        run_id=_RUN_MARK,
        sequence=_NUMBERS[0],
        start_ns=_NUMBERS[1],
        end_ns=_NUMBERS[2],
        agent_version="0.1.0",
        sent_ns=_NUMBERS[3],
        entities=list(_entities()),
        groups=encode_groups(_groups(pool, random)),
        accounting=Accounting(sampled=25_000),
    )
    for group in batch.groups:
        [hertz] = [hertz for hertz in HERTZ if group.count == 5 * hertz]
        group.times = _MARKS[hertz]
    marks = {
        host_name(0).encode(): "host",
        _RUN_MARK.encode(): "run",
        **{_long(number): str(at) for at, number in enumerate(_NUMBERS)},
        **{_binary(mark): str(mark) for mark in _MARKS.values()},
    }
    parts: list[bytes | str] = [encode(batch)]
    for mark, name in marks.items():
        parts = list(itertools.chain.from_iterable(_cut(part, mark, name) for part in parts))
    assert {part for part in parts if isinstance(part, str)} == set(marks.values())
    return Template(count_values(batch), tuple(parts))


def _cut(part: bytes | str, mark: bytes, name: str) -> Iterator[bytes | str]:
    if isinstance(part, str):
        yield part
        return
    for at, piece in enumerate(part.split(mark)):
        if at:
            yield name
        yield piece


def _blocks(part: bytes) -> bytes:
    deflate = zlib.compressobj(1, zlib.DEFLATED, -15)
    return deflate.compress(part) + deflate.flush(zlib.Z_FULL_FLUSH)


def _stored(part: bytes) -> bytes:
    """A stored block (RFC 1951, 3.2.4); the bytes of up to 64 kB follow as they are."""
    return b"\0" + struct.pack("<HH", len(part), len(part) ^ 0xFFFF) + part


def _long(number: int) -> bytes:
    """msgpack of an integer of eight bytes."""
    return b"\xcf" + number.to_bytes(8, "big")


def _binary(data: bytes) -> bytes:
    """msgpack of up to 64 kB."""
    size = len(data)
    return (b"\xc4" + bytes([size]) if size < 256 else b"\xc5" + size.to_bytes(2, "big")) + data


def _times(start_ns: int, hertz: int) -> bytes:
    times = start_ns + np.arange(5 * hertz, dtype=np.int64) * (1_000_000_000 // hertz)
    return _binary(bytes(standalone.simple_compress(times, _CONFIG)))


def _entities() -> Iterator[Entity]:
    yield Entity("host", "host", {"logical_cpus": str(CORES), "kernel": "6.1.0", "memory_total_bytes": str(2 << 40)})
    for n in range(GPUS):
        labels = {"index": str(n), "name": "NVIDIA H200", "uuid": f"GPU-{n}", "memory_total_bytes": "150754820096"}
        owners = ",".join(str(1000 + pid) for pid in range(PROCESSES) if pid % GPUS == n)
        yield Entity(gpu_key(n), "gpu", labels | {"power_limit_watts": "700", "owners": owners})
    yield from (Entity(f"core:{n}", "core", {"index": str(n)}) for n in range(CORES))
    for pid in range(1000, 1000 + PROCESSES):
        labels = {"pid": str(pid), "parent_pid": "900", "command": f"python train.py --rank {pid}", "user": "ml"}
        yield Entity(f"process:{pid}", "process", labels)
    yield from (Entity(_thread(n), "thread", {"name": f"loader-{n}"}) for n in range(THREADS))


def gpu_key(number: int) -> str:
    """Key of a GPU of every host."""
    return f"gpu:GPU-{number}"


def _thread(number: int) -> str:
    pid = 1000 + number % PROCESSES
    return f"thread:{pid}/{pid + 100 + number}"


def _groups(pool: Pool, random: np.random.Generator) -> Iterator[DerivedGroup]:
    kinds: Sequence[tuple[list[str], str, float, int]] = (
        ([gpu_key(n) for n in range(GPUS)], "gpu", 0.1, 10),
        ([f"core:{n}" for n in range(CORES)], "core", 0.1, 10),
        (["host"], "host", 0.1, 10),
        ([f"process:{1000 + n}" for n in range(PROCESSES)], "process", 0.2, 5),
        ([_thread(n) for n in range(THREADS)], "thread", 1.0, 1),
        (["host"], "host", 1.0, 1),
    )
    for keys, kind, period, hertz in kinds:
        count = 5 * hertz
        metrics = [metric.name for metric in METRICS if (metric.entity, metric.period_seconds) == (kind, period)]
        for key in keys:
            chosen = {name: _window(pool.get(name, []), count, random) for name in metrics}
            yield DerivedGroup(key, np.arange(count, dtype=np.int64), chosen, {})


def _window(series: list[Floats], count: int, random: np.random.Generator) -> Floats:
    """``count`` values in a row out of one of the recorded series; zeros where none has so many."""
    fitting = [one for one in series if one.size >= count]
    if not fitting:
        return np.zeros(count)
    one = fitting[int(random.integers(len(fitting)))]
    first = int(random.integers(one.size - count + 1))
    return one[first : first + count]


@cache
def _pool() -> Pool:
    """Recorded series by metric."""
    whole: dict[tuple[str, str, str], list[Floats]] = {}
    for folder in folders(OWN):
        for batch in batches(folder, "host"):
            for group in decode_groups(batch):
                for metric, values in group.values.items():
                    whole.setdefault((folder.name, group.entity, metric), []).append(values)
    pool: Pool = {}
    for (_, _, metric), pieces in whole.items():
        joined = np.concatenate(pieces)
        pool.setdefault(metric, []).append(joined[~np.isnan(joined)])
    return pool
