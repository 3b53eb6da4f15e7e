"""Rows of an export as bytes, piece by piece: CSV, an Arrow IPC stream, or Parquet.

A format gets all series in turn and gives bytes as they become ready; ``end`` gives the rest. What it holds back is
bounded (``ROWS_AT_ONCE``). Arrow and Parquet need pyarrow, which the extra ``export`` brings.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from gapscope_backend.errors import UnprocessableError
from gapscope_backend.services.export_rows import BUCKET_COLUMNS, SAMPLE_COLUMNS, SeriesRows

ROWS_AT_ONCE = 65_536
"""Rows of a batch of Arrow and of a row group of Parquet, at least."""
MEDIA_TYPES = {
    "csv": "text/csv",
    "arrow": "application/vnd.apache.arrow.stream",
    "parquet": "application/vnd.apache.parquet",
}


class Format(Protocol):
    """Turns rows into bytes."""

    def begin(self) -> bytes:
        """What stands before the first row."""

    def add(self, rows: SeriesRows) -> bytes:
        """The bytes that are ready after these rows."""

    def end(self) -> bytes:
        """What is left."""


def make_format(name: str, host: str, buckets: bool) -> Format:
    """The format of a name in ``MEDIA_TYPES``. Raises UnprocessableError where its library is not installed."""
    columns = BUCKET_COLUMNS if buckets else SAMPLE_COLUMNS
    if name == "csv":
        return CsvFormat(host, columns)
    return ParquetFormat(host, columns) if name == "parquet" else ArrowFormat(host, columns)


class CsvFormat:
    """RFC 4180 with ``\\n``; a missing value is an empty field, and ``missing`` says why."""

    def __init__(self, host: str, columns: Sequence[str]) -> None:
        self._host = host
        self._columns = columns

    def begin(self) -> bytes:
        """The header."""
        names = ("time_ns", "time", "host", "entity", "metric", "unit", *self._columns, "missing")
        return (_quoted(names) + "\n").encode()

    def add(self, rows: SeriesRows) -> bytes:
        """A line a row."""
        moments = np.datetime_as_string(rows.times.astype("datetime64[ns]"), unit="us").tolist()
        head = _quoted((self._host, rows.entity, rows.metric, rows.unit))
        values = zip(*(map(_text, rows.columns[name].tolist()) for name in self._columns), strict=True)
        reasons = {at: _quoted((reason,)) for at, reason in rows.reasons.items()}
        lines = [
            f"{t},{moment}Z,{head},{','.join(value)},{reasons.get(at, '')}\n"
            for at, (t, moment, value) in enumerate(zip(rows.times.tolist(), moments, values, strict=True))
        ]
        return "".join(lines).encode()

    def end(self) -> bytes:
        """Nothing follows the last line."""
        return b""


class ArrowFormat:
    """An Arrow IPC stream, its buffers compressed by zstd."""

    def __init__(self, host: str, columns: Sequence[str]) -> None:
        self._arrow = _pyarrow()
        self._host = host
        self._columns = columns
        self._schema = self._make_schema()
        self._sink = _Sink()
        self._held: list[Any] = []
        self._writer: Any = None

    def begin(self) -> bytes:
        """The schema."""
        self._writer = self._open()
        return self._sink.take()

    def add(self, rows: SeriesRows) -> bytes:
        """Batches, once enough rows are together."""
        self._held.append(self._batch(rows))
        if sum(batch.num_rows for batch in self._held) >= ROWS_AT_ONCE:
            self._flush()
        return self._sink.take()

    def end(self) -> bytes:
        """The last batch and the end mark."""
        self._flush()
        self._writer.close()
        return self._sink.take()

    def _open(self) -> Any:
        options = self._arrow.ipc.IpcWriteOptions(compression="zstd")
        return self._arrow.ipc.new_stream(self._sink, self._schema, options=options)

    def _flush(self) -> None:
        if self._held:
            table = self._arrow.Table.from_batches(self._held, self._schema).combine_chunks()
            self._writer.write_table(table)
            self._held = []

    def _make_schema(self) -> Any:
        arrow = self._arrow
        numbers = [(name, arrow.int64() if name == "count" else arrow.float64()) for name in self._columns]
        texts = [(name, arrow.string()) for name in ("host", "entity", "metric", "unit")]
        return arrow.schema([("time", arrow.timestamp("ns", "UTC")), *texts, *numbers, ("missing", arrow.string())])

    def _batch(self, rows: SeriesRows) -> Any:
        arrow, count = self._arrow, rows.times.size
        texts = [arrow.repeat(text, count) for text in (self._host, rows.entity, rows.metric, rows.unit)]
        numbers = [arrow.array(rows.columns[name], from_pandas=True) for name in self._columns]
        reasons = arrow.array([rows.reasons.get(at) for at in range(count)], arrow.string())
        times = arrow.array(rows.times).cast(arrow.timestamp("ns", "UTC"))
        return arrow.record_batch([times, *texts, *numbers, reasons], schema=self._schema)


class ParquetFormat(ArrowFormat):
    """Parquet, its columns compressed by zstd, a row group each ``ROWS_AT_ONCE`` rows."""

    def _open(self) -> Any:
        from pyarrow import parquet

        return parquet.ParquetWriter(self._sink, self._schema, compression="zstd")


class _Sink(io.RawIOBase):
    """A file that is taken away piece by piece."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._length += len(self._parts[-1])
        return len(self._parts[-1])

    def tell(self) -> int:
        return self._length

    def take(self) -> bytes:
        """What was written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise UnprocessableError(
            "Arrow and Parquet need pyarrow where this runs: pip install 'gapscope[export]'; csv needs nothing",
            "format",
        ) from error
    return pyarrow


def _quoted(fields: Iterable[str]) -> str:
    """Fields of a line of CSV, quoted where they must be."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()


def _text(value: float) -> str:
    return "" if value != value else repr(value)
