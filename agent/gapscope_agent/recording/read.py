"""Read a recording of format 1 or 2: the same stream of readings that the live sources yield.

Fields that this version does not know are ignored, so that a newer writer stays readable. Everything else that is not
as it should be raises :class:`~gapscope_agent.errors.RecordingError` with file and line. Memory is bounded: a line
and the number of lines are limited, and only the readings of a few seconds are held to put them in order.
"""

from __future__ import annotations

import gzip
import heapq
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from gapscope_agent.errors import RecordingError
from gapscope_agent.reading import Origin, Reading, Stacks, ThreadStack
from gapscope_agent.recording.layout import (
    FORMATS,
    MAX_LINE_BYTES,
    MAX_LINES,
    MAX_ORIGIN_BYTES,
    ORIGIN_FILE,
    READINGS_FILE,
    STACKS_FILE,
)

REORDER_NS = 5_000_000_000
"""Readings are written as they come, from several threads; one may stand up to this far behind a later one."""
MAX_REORDERED = 100_000
MAX_TIME_NS = 2**63 - 1

_COPY_AGAIN = "Copy the recording again from where it was made"
_UPDATE = "Update gapscope, or record again with this version"


_T = TypeVar("_T")


class _Format(msgspec.Struct):
    format: int


class _Snapshot(msgspec.Struct):
    """A line of ``stacks.jsonl.gz``; format 1 has no ``kind``, and format 2's is ignored."""

    t: int
    pid: int
    threads: list[ThreadStack]
    mono: int | None = None


_READING_DECODER: msgspec.json.Decoder[Reading] = msgspec.json.Decoder(Reading)
_SNAPSHOT_DECODER = msgspec.json.Decoder(_Snapshot)


@dataclass(frozen=True)
class Recording:
    """An opened recording. ``interrupted``: its writer did not end it, so its last lines may be missing."""

    path: Path
    origin: Origin

    @property
    def interrupted(self) -> bool:
        """True where the writer did not get to end the recording."""
        return self.origin.end_ns is None

    def readings(self) -> Iterator[Reading]:
        """Every reading, stacks included, in order of ``t``. Each call reads the files anew."""
        streams = [in_time_order(self._numbers_and_kinds())]
        if (self.path / STACKS_FILE).exists():
            streams.append(in_time_order(self._stacks()))
        return heapq.merge(*streams, key=lambda reading: reading.t)

    def _numbers_and_kinds(self) -> Iterator[Reading]:
        path = self.path / READINGS_FILE
        known_gpus = {gpu.index for gpu in self.origin.gpus}
        number = 0
        for number, line in _lines(path, torn_end_allowed=self.interrupted):
            reading = _decode(_READING_DECODER, line, path, number)
            gpu = getattr(reading, "gpu", None)
            if gpu is not None and gpu not in known_gpus:
                raise RecordingError(path, f"GPU {gpu} is not listed in {ORIGIN_FILE}", _COPY_AGAIN, number)
            _check_time(reading.t, path, number)
            yield reading
        if number == 0 and not self.interrupted:
            raise RecordingError(path, "holds no reading", _COPY_AGAIN)

    def _stacks(self) -> Iterator[Reading]:
        path = self.path / STACKS_FILE
        for number, line in _lines(path, torn_end_allowed=self.interrupted):
            snapshot = _decode(_SNAPSHOT_DECODER, line, path, number)
            _check_time(snapshot.t, path, number)
            yield Stacks(t=snapshot.t, mono=snapshot.mono, pid=snapshot.pid, threads=snapshot.threads)


def open_recording(path: str | Path) -> Recording:
    """Open the recording in folder ``path``; its lines are read and checked by :meth:`Recording.readings`."""
    folder = Path(path)
    if not folder.is_dir():
        raise RecordingError(folder, "there is no such folder", f"Name the folder that holds {ORIGIN_FILE}")
    origin = _read_origin(folder / ORIGIN_FILE)
    if not (folder / READINGS_FILE).is_file():
        raise RecordingError(folder / READINGS_FILE, "this file of the recording is missing", _COPY_AGAIN)
    return Recording(folder, origin)


def _read_origin(path: Path) -> Origin:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_ORIGIN_BYTES + 1)
    except FileNotFoundError:
        advice = "Name a folder made by `gapscope record`"
        raise RecordingError(path, "this file is missing, so the folder is no recording", advice) from None
    except OSError as error:
        raise RecordingError(path, f"cannot be read ({error.strerror})", "Check the file's permissions") from error
    if len(data) > MAX_ORIGIN_BYTES:
        raise RecordingError(path, f"is larger than {MAX_ORIGIN_BYTES} bytes", _COPY_AGAIN)
    version = _decode(msgspec.json.Decoder(_Format), data, path).format
    if version not in FORMATS:
        known = " and ".join(map(str, FORMATS))
        raise RecordingError(path, f"has format {version}; this version reads {known}", _UPDATE)
    origin = _decode(msgspec.json.Decoder(Origin), data, path)
    _check_origin(origin, path)
    return origin


def _check_origin(origin: Origin, path: Path) -> None:
    _check_time(origin.start_ns, path)
    if origin.end_ns is not None:
        _check_time(origin.end_ns, path)
        if origin.end_ns < origin.start_ns:
            raise RecordingError(path, "end_ns lies before start_ns", _COPY_AGAIN)
    if origin.jiffies_per_second <= 0 or origin.page_bytes <= 0:
        raise RecordingError(path, "jiffies_per_second and page_bytes must be above 0", _COPY_AGAIN)
    indexes = [gpu.index for gpu in origin.gpus]
    if len(set(indexes)) != len(indexes):
        raise RecordingError(path, f"lists a GPU index twice ({indexes})", _COPY_AGAIN)


def _check_time(t: int, path: Path, line: int | None = None) -> None:
    if not 0 <= t <= MAX_TIME_NS:
        raise RecordingError(path, f"time {t} is not a count of nanoseconds since 1970", _COPY_AGAIN, line)


def _decode(decoder: msgspec.json.Decoder[_T], data: bytes, path: Path, line: int | None = None) -> _T:
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        problem = f"does not fit the recording format: {error}"
        raise RecordingError(path, problem, _UPDATE, line) from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RecordingError(path, f"is not valid JSON: {error}", _COPY_AGAIN, line) from error


def _lines(path: Path, *, torn_end_allowed: bool) -> Iterator[tuple[int, bytes]]:
    """Numbered lines of a gzip file. ``torn_end_allowed``: an unfinished end is the end, not an error."""
    number = 0
    try:
        with gzip.open(path, "rb") as file:
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    raise RecordingError(path, f"is longer than {MAX_LINE_BYTES} bytes", _COPY_AGAIN, number)
                if number > MAX_LINES:
                    raise RecordingError(path, f"has more than {MAX_LINES} lines", "Record a shorter span", number)
                if torn_end_allowed and not line.endswith(b"\n"):
                    return
                if line.strip():
                    yield number, line
    except EOFError:
        if not torn_end_allowed:
            raise RecordingError(path, "the file is cut off here", _COPY_AGAIN, number + 1) from None
    except (OSError, zlib.error) as error:
        raise RecordingError(path, f"cannot be decompressed ({error})", _COPY_AGAIN, number + 1) from error


def in_time_order(readings: Iterator[Reading]) -> Iterator[Reading]:
    """Sort a nearly sorted stream by ``t``, holding back no more than ``REORDER_NS`` of it.

    Where a clock was set back by more than that, the readings stay in the order in which they came.
    """
    held: list[tuple[int, int, Reading]] = []
    newest = 0
    for arrival, reading in enumerate(readings):
        heapq.heappush(held, (reading.t, arrival, reading))
        newest = max(newest, reading.t)
        while held and (held[0][0] < newest - REORDER_NS or len(held) > MAX_REORDERED):
            yield heapq.heappop(held)[2]
    while held:
        yield heapq.heappop(held)[2]
