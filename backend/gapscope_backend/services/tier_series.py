"""Series out of a tier: buckets of the store folded into those of an answer, without reading a sample.

An answer's buckets are whole numbers of the tier's and lie on its grid, so that every figure is exact: each sample is
counted in one bucket.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gapscope_agent.catalog import BY_NAME
from gapscope_agent.wire import MissingRun
from gapscope_backend.services.buckets import Floats, Ints
from gapscope_backend.services.missing import Absence, MissingTracker
from gapscope_backend.store.chunks.block import Row
from gapscope_backend.store.chunks.rollup import Rolled, coarser
from gapscope_backend.store.chunks.runs import cut
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Host
from gapscope_backend.store.reader import finest_tier, has_samples
from gapscope_backend.store.tiers import TIERS, Tier


@dataclass(frozen=True)
class TierBuckets:
    """One series, NaN in a bucket without a value."""

    mean: Floats
    minimum: Floats
    maximum: Floats
    idle_share: Floats | None
    missing: list[Absence]


class TierGrid:
    """The buckets of an answer over ``[start, end)``, each a whole number of the tier's."""

    def __init__(self, start_ns: int, end_ns: int, count: int, tier: Tier) -> None:
        self._start_ns = start_ns
        self._end_ns = end_ns
        self._tier = tier
        self.bucket_ns = -(-(end_ns - start_ns) // (count * tier.width_ns)) * tier.width_ns
        self._first_ns = start_ns // self.bucket_ns * self.bucket_ns
        self.count = -(-(end_ns - self._first_ns) // self.bucket_ns)

    @property
    def starts_ms(self) -> Floats:
        """Start of each bucket, milliseconds since the epoch."""
        return np.round((self._first_ns + np.arange(self.count, dtype=np.int64) * self.bucket_ns) / 1e6, 3)

    def _clipped(self, part: Rolled) -> Rolled:
        """Without the buckets outside the span."""
        inside = (part.times + self._tier.width_ns > self._start_ns) & (part.times < self._end_ns)
        low, high = int(np.argmax(inside)), int(inside.sum())
        missing = {row: cut(runs, low, low + high) for row, runs in part.missing.items()}
        return Rolled(part.rows, part.times[low : low + high], part.stats[:, :, low : low + high], missing)

    def fold(self, part: Rolled, data_end_ns: int) -> Iterator[tuple[Row, TierBuckets]]:
        """The answer's buckets of each series; data is expected until ``data_end_ns``."""
        part = self._clipped(part)
        if not part.times.size:
            return
        wide = coarser(part, self.bucket_ns)
        at = (wide.times - self._first_ns) // self.bucket_ns
        for row, series in enumerate(part.rows):
            yield series, self._row(wide, row, at, self._absences(part, row, data_end_ns))

    def _absences(self, part: Rolled, row: int, data_end_ns: int) -> list[Absence]:
        """Where a row has no values, by the tier's buckets."""
        width = self._tier.width_ns
        tracker = MissingTracker(self._start_ns, data_end_ns, width // 2)
        runs = [MissingRun(2 * run.start, 2 * run.count, run.reason) for run in part.missing.get(row, ())]
        tracker.add(np.stack([part.times, part.times + width - 1], axis=1).ravel(), runs)
        return tracker.finish()

    def _row(self, wide: Rolled, row: int, at: Ints, missing: list[Absence]) -> TierBuckets:
        metric = BY_NAME[wide.rows[row][1]]
        there = wide.counts[row] > 0
        at = at[there]
        counts = wide.counts[row][there]

        def spread(values: Floats) -> Floats:
            out = np.full(self.count, np.nan)
            out[at] = values
            return out

        return TierBuckets(
            spread(wide.total[row][there] * metric.quantum / counts),
            spread(wide.minimum[row][there] * metric.quantum),
            spread(wide.maximum[row][there] * metric.quantum),
            spread(wide.idle[row][there] / counts) if metric.kind == "ratio" else None,
            missing,
        )


async def tier_for(database: Database, host: Host, start_ns: int, end_ns: int, count: int) -> Tier | None:
    """The tier to read a span from in ``count`` buckets; None for the samples themselves.

    A tier serves buckets twice its own or wider; a coarser one serves where samples, or a finer tier, are kept no more.
    """
    bucket_ns = -(-(end_ns - start_ns) // count)
    fitting = [tier for tier in TIERS if 2 * tier.width_ns <= bucket_ns]
    if not fitting and (start_ns >= host.raw_from_ns or await has_samples(database, host.id, start_ns, end_ns)):
        return None
    kept = await finest_tier(database, host.id, start_ns, end_ns)
    return max(kept, fitting[-1] if fitting else TIERS[0], key=lambda tier: tier.seconds)
