"""Write a recording of format 2. An interruption at any moment leaves a recording that reads up to its last second.

The files are compressed as they grow and brought to the disk once a second. ``recording.json`` is written first,
without ``end_ns``, and once more at the end; a reader that finds no ``end_ns`` expects a torn last line.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from types import TracebackType

import msgspec

from gapscope_agent.clock import Clock, SystemClock
from gapscope_agent.errors import RecordingError
from gapscope_agent.reading import Origin, Reading, Stacks
from gapscope_agent.recording.layout import CURRENT_FORMAT, ORIGIN_FILE, READINGS_FILE, STACKS_FILE
from gapscope_agent.sampler import Sampler
from gapscope_agent.sources import build_sources
from gapscope_agent.sources.base import Context, Source
from gapscope_agent.sources.probe import probe
from gapscope_agent.stacks.build import build_access, build_sampling
from gapscope_agent.stacks.settings import StackSettings

FLUSH_NS = 1_000_000_000
COMPRESSION = 6

_encoder = msgspec.json.Encoder()


class RecordingWriter:
    """Writes readings from any thread. Use as a context manager, or call :meth:`close`."""

    def __init__(self, directory: str | Path, origin: Origin, clock: Clock | None = None) -> None:
        self.path = Path(directory)
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._stacks: gzip.GzipFile | None = None
        self._closed = False
        self.count = 0
        self._origin = msgspec.structs.replace(origin, format=CURRENT_FORMAT, end_ns=None)
        _make_empty_folder(self.path)
        try:
            self._write_origin()
            self._readings = gzip.GzipFile(self.path / READINGS_FILE, "wb", COMPRESSION)
        except OSError as error:
            raise _cannot_write(self.path, error) from error
        self._flushed_ns = self._clock.mono_ns()

    def write(self, reading: Reading) -> None:
        """Add one reading. Raises RecordingError when the disk refuses; after close() the reading is left out."""
        line = _encoder.encode(reading) + b"\n"
        with self._lock:
            if self._closed:
                return
            try:
                self._file_for(reading).write(line)
                self.count += 1
                self._flush_if_due()
            except OSError as error:
                raise _cannot_write(self.path, error) from error

    def close(self) -> None:
        """End the recording: it is whole from now on."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                self._readings.close()
                if self._stacks is not None:
                    self._stacks.close()
                self._origin.end_ns = max(self._clock.wall_ns(), self._origin.start_ns)
                self._write_origin()
            except OSError as error:
                raise _cannot_write(self.path, error) from error

    def __enter__(self) -> RecordingWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _file_for(self, reading: Reading) -> gzip.GzipFile:
        if not isinstance(reading, Stacks):
            return self._readings
        if self._stacks is None:
            self._stacks = gzip.GzipFile(self.path / STACKS_FILE, "wb", COMPRESSION)
        return self._stacks

    def _flush_if_due(self) -> None:
        now_ns = self._clock.mono_ns()
        if now_ns - self._flushed_ns < FLUSH_NS:
            return
        self._flushed_ns = now_ns
        self._readings.flush()
        if self._stacks is not None:
            self._stacks.flush()

    def _write_origin(self) -> None:
        path = self.path / ORIGIN_FILE
        draft = path.with_suffix(".json.new")
        draft.write_bytes(msgspec.json.format(_encoder.encode(self._origin), indent=1) + b"\n")
        os.replace(draft, path)


def record(
    directory: str | Path,
    seconds: float,
    *,
    sources: Sequence[Source] | None = None,
    context: Context | None = None,
    clock: Clock | None = None,
    stop: threading.Event | None = None,
    stacks: StackSettings | None = None,
    stacks_of: Collection[int] = (),
) -> RecordingWriter:
    """Sample this host for ``seconds`` (or until ``stop`` is set) into a new recording; returns its closed writer.

    With ``stacks``, snapshots of the Python stacks are taken throughout: of the GPU's owners and those that feed them,
    and of the processes ``stacks_of``.

    Raises RecordingError when the folder is not empty or the disk refuses; what was written until then reads.
    """
    context = context or Context()
    context.attention.set()
    clock = clock or SystemClock()
    stop = stop or threading.Event()
    failures: list[RecordingError] = []
    with RecordingWriter(directory, probe(context, clock), clock) as writer:

        def keep(reading: Reading) -> None:
            if failures:
                return
            try:
                writer.write(reading)
            except RecordingError as error:
                failures.append(error)
                stop.set()

        sampler = Sampler(sources if sources is not None else build_sources(context), keep, clock)
        sampler.start()
        try:
            with _taking_stacks(stacks, stacks_of, context, keep, seconds):
                clock.wait(stop, seconds)
        finally:
            sampler.stop()
            context.driver.close()
    if failures:
        raise failures[0]
    return writer


@contextlib.contextmanager
def _taking_stacks(
    settings: StackSettings | None,
    pids: Collection[int],
    context: Context,
    emit: Callable[[Reading], None],
    seconds: float,
) -> Iterator[None]:
    """One burst over the whole recording."""
    if settings is None:
        yield
        return
    sampling = build_sampling(settings, build_access(settings), context, emit, pids)
    sampling.ask(seconds)
    sampling.start()
    try:
        yield
    finally:
        sampling.stop()


def _make_empty_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise RecordingError(path, "the folder is not empty", "Name a new folder; a recording is never overwritten")
    except (FileExistsError, NotADirectoryError) as error:
        raise RecordingError(path, "is a file, not a folder", "Name a new folder") from error
    except OSError as error:
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> RecordingError:
    return RecordingError(
        path, f"cannot be written ({error.strerror or error})", "Free the disk or name another folder"
    )
