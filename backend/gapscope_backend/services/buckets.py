"""One series over a span: kept as samples while they are few, folded into equal buckets once they are many.

A bucket keeps count, sum, minimum, maximum and the number of idle samples, so that a gap of 100 ms stays visible
in any zoom. Values are fed in pieces, oldest first; memory is bounded by the limit of samples or by the buckets.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Span:
    """``[start_ns, end_ns)`` in ``count`` buckets of ``bucket_ns``; the last may reach past the end."""

    def __init__(self, start_ns: int, end_ns: int, count: int) -> None:
        self.start_ns = start_ns
        self.end_ns = end_ns
        self.bucket_ns = max(1, -(-(end_ns - start_ns) // count))
        self.count = -(-(end_ns - start_ns) // self.bucket_ns)

    @property
    def starts_ms(self) -> Floats:
        """Start of each bucket, milliseconds since the epoch."""
        starts_ns = self.start_ns + np.arange(self.count, dtype=np.int64) * self.bucket_ns
        return np.round(starts_ns / 1e6, 3)


class Folded:
    """Per-bucket sums of the samples fed so far; missing samples (NaN) count nowhere."""

    def __init__(self, span: Span, idle_below: float | None) -> None:
        self._span = span
        self._idle_below = idle_below
        self.counts = np.zeros(span.count, dtype=np.int64)
        self._sums = np.zeros(span.count)
        self._idle = np.zeros(span.count, dtype=np.int64)
        self._min = np.full(span.count, np.inf)
        self._max = np.full(span.count, -np.inf)

    def add(self, times: Ints, values: Floats) -> None:
        """Fold samples that lie inside the span."""
        good = ~np.isnan(values)
        at, values = (times[good] - self._span.start_ns) // self._span.bucket_ns, values[good]
        self.counts += np.bincount(at, minlength=self._span.count)
        self._sums += np.bincount(at, weights=values, minlength=self._span.count)
        np.minimum.at(self._min, at, values)
        np.maximum.at(self._max, at, values)
        if self._idle_below is not None:
            self._idle += np.bincount(at[values < self._idle_below], minlength=self._span.count)

    @property
    def mean(self) -> Floats:
        """Mean of each bucket, NaN where it has no sample."""
        return self._per_count(self._sums)

    @property
    def idle_share(self) -> Floats | None:
        """Share of each bucket's samples below the threshold; None where the series has none."""
        return None if self._idle_below is None else self._per_count(self._idle.astype(np.float64))

    @property
    def minimum(self) -> Floats:
        """Smallest sample of each bucket, NaN where it has none."""
        return np.where(self.counts > 0, self._min, np.nan)

    @property
    def maximum(self) -> Floats:
        """Largest sample of each bucket, NaN where it has none."""
        return np.where(self.counts > 0, self._max, np.nan)

    def _per_count(self, totals: Floats) -> Floats:
        out = np.full(self._span.count, np.nan)
        np.divide(totals, self.counts, out=out, where=self.counts > 0)
        return out


class Collector:
    """One series: its samples until they exceed ``sample_limit``, its buckets from then on."""

    def __init__(self, span: Span, sample_limit: int, idle_below: float | None) -> None:
        self._span = span
        self._limit = sample_limit
        self._idle_below = idle_below
        self._pieces: list[tuple[Ints, Floats]] = []
        self._held = 0
        self._folded: Folded | None = None

    @property
    def is_raw(self) -> bool:
        """Whether all samples are still held one by one."""
        return self._folded is None

    def add(self, times: Ints, values: Floats) -> None:
        """Take samples inside the span; times ascend within a piece."""
        if self._folded is not None:
            self._folded.add(times, values)
            return
        self._pieces.append((times, values))
        self._held += times.size
        if self._held > self._limit:
            self.fold()

    def fold(self) -> Folded:
        """The series in buckets."""
        if self._folded is None:
            self._folded = Folded(self._span, self._idle_below)
            for times, values in self._pieces:
                self._folded.add(times, values)
            self._pieces = []
        return self._folded

    def samples(self) -> tuple[Ints, Floats]:
        """All samples in order of time, one a moment (the last one told)."""
        return join_pieces(self._pieces)


def join_pieces(pieces: list[tuple[Ints, Floats]]) -> tuple[Ints, Floats]:
    """Pieces of one series as one, strictly ascending; of samples at the same moment the last one told stays."""
    if not pieces:
        return np.empty(0, dtype=np.int64), np.empty(0)
    times = np.concatenate([piece[0] for piece in pieces])
    values = np.concatenate([piece[1] for piece in pieces])
    if times.size > 1 and (np.diff(times) <= 0).any():
        order = np.argsort(times, kind="stable")
        times, values = times[order], values[order]
        last = np.append(times[1:] != times[:-1], True)
        times, values = times[last], values[last]
    return times, values
