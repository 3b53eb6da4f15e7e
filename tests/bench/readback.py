"""What a database holds after a load, against what was acknowledged: nothing lost, nothing twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import func, select

from gapscope_agent.wire import count_values, decode_batch
from gapscope_backend.store.database import Database
from gapscope_backend.store.hot import unpack
from gapscope_backend.store.models import Chunk, Host, IngestHot, IngestRun
from gapscope_backend.store.tiers import RAW

Batches = dict[tuple[str, str], set[int]]
"""Numbers of batches by host and run."""


@dataclass
class Held:
    """What a database holds: batches among the hot ones and in chunks, and values by host."""

    hot: Batches = field(default_factory=lambda: defaultdict(set))
    compacted: Batches = field(default_factory=lambda: defaultdict(set))
    values: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def both(self) -> int:
        """Batches that are hot and in chunks."""
        return sum(len(numbers & self.compacted.get(key, set())) for key, numbers in self.hot.items())

    @property
    def batches(self) -> Batches:
        """All of them."""
        return {key: self.hot.get(key, set()) | self.compacted.get(key, set()) for key in {*self.hot, *self.compacted}}


async def read_held(database: Database) -> Held:
    """Count it all: values of hot batches out of their payloads, those of chunks as the chunks say."""
    held = Held()
    async with database.read() as session:
        names = {row[0]: str(row[1]) for row in await session.execute(select(Host.id, Host.name))}
        hot = select(IngestHot.host_id, IngestHot.encoding, IngestHot.payload).execution_options(yield_per=64)
        async for host_id, encoding, payload in await session.stream(hot):
            batch = decode_batch(unpack(encoding, payload))
            held.hot[names[host_id], batch.run_id].add(batch.sequence)
            held.values[names[host_id]] += count_values(batch)
        for row in await session.scalars(select(IngestRun)):
            for first, last in row.ranges:
                held.compacted[names[row.host_id], row.run_id].update(range(first, last + 1))
        sums = select(Chunk.host_id, func.sum(Chunk.samples)).where(Chunk.tier == RAW).group_by(Chunk.host_id)
        for host_id, samples in await session.execute(sums):
            held.values[names[host_id]] += int(samples)
    return held


def compare(held: Held, sent: Batches, values: Mapping[str, int]) -> dict[str, int]:
    """Batches acknowledged and absent, in two places, and of the hosts that sent those that were never sent; values."""
    stored = held.batches
    return {
        "lost_batches": sum(len(numbers - stored.get(key, set())) for key, numbers in sent.items()),
        "unknown_batches": sum(
            len(numbers - sent.get(key, set())) for key, numbers in stored.items() if key[0] in values
        ),
        "batches_in_two_places": held.both,
        "hosts_with_wrong_values": sum(held.values.get(host, 0) != count for host, count in values.items()),
        "lost_values": sum(max(0, count - held.values.get(host, 0)) for host, count in values.items()),
        "doubled_values": sum(max(0, held.values.get(host, 0) - count) for host, count in values.items()),
        "values": sum(held.values.values()),
    }
