"""A day of the hosts that are asked for, as chunks, straight into the store; and many others with next to nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from gapscope_agent.wire import Matrix, decode_batch, decode_matrix
from gapscope_backend.services.ingest import check
from gapscope_backend.store.chunk_rows import ChunkKey, Content, Encoded, encode_chunk, write_chunks
from gapscope_backend.store.chunks.block import Block, block_of
from gapscope_backend.store.chunks.gather import rollups
from gapscope_backend.store.chunks.rollup import Rolled, combine
from gapscope_backend.store.database import Database
from gapscope_backend.store.hot import store_batches
from gapscope_backend.store.models import Host
from gapscope_backend.store.tiers import RAW, SLOT_NS, TIERS
from tests.bench.engines import Place
from tests.bench.fleet import GPUS, SPAN_NS, Template, gpu_key, host_name, run_name, templates
from tests.bench.queries import ASKED_HOSTS, asked_host

DAY_NS = 24 * 3600 * 1_000_000_000
HERTZ = 10
VARIANTS = 8


async def fill(database: Database, now_ns: int, hours: float = 24, hosts: int = ASKED_HOSTS) -> None:
    """The GPUs of the asked hosts over the hours before ``now_ns``, raw and in tiers, as compaction leaves them."""
    made = templates(VARIANTS)
    await _announce(database, made, now_ns, hosts)
    matrices = [_gpu_matrix(one, now_ns) for one in made]
    slots = int(hours * 3600e9 / SLOT_NS)
    first_ns = (now_ns // SLOT_NS - slots) * SLOT_NS
    async with database.read() as session:
        names = [host_name(asked_host(number)) for number in range(hosts)]
        ids = list(await session.scalars(select(Host.id).where(Host.name.in_(names))))
    for gpu in range(GPUS):
        patterns = [await asyncio.to_thread(_pattern, matrices, gpu, variant) for variant in range(VARIANTS)]
        for host_id in ids:
            for at in range(0, slots, 24):
                some = range(at, min(at + 24, slots))
                chunks = await asyncio.to_thread(_chunks, patterns, gpu, [first_ns + n * SLOT_NS for n in some])
                assert await database.write_in_thread(partial(_write, database.dialect, host_id, chunks))


def _write(dialect: str, host_id: int, chunks: Sequence[Encoded], session: Session) -> bool:
    return write_chunks(session, dialect, host_id, chunks)


async def _announce(database: Database, made: Sequence[Template], now_ns: int, hosts: int) -> None:
    """A batch of each host, so that it and its GPUs are known."""
    bodies = [made[0].body(asked_host(n), run_name(asked_host(n), 0), 0, now_ns - SPAN_NS) for n in range(hosts)]
    await store_batches(database, [check(body, "identity", "*", now_ns) for body in bodies])


def _gpu_matrix(template: Template, now_ns: int) -> Matrix:
    batch = decode_batch(template.body(0, run_name(0, 0), 0, now_ns))
    [group] = [group for group in batch.groups if group.entities[0].startswith("gpu:")]
    return decode_matrix(group)


def _pattern(matrices: Sequence[Matrix], gpu: int, variant: int) -> Block:
    """A GPU over a slot that begins at 0: recorded pieces of 5 s in another order for each variant."""
    rows = len(matrices[0].metrics)
    of_gpu = [block_of(matrix).quanta[gpu * rows : (gpu + 1) * rows] for matrix in matrices]
    random = np.random.default_rng(gpu * VARIANTS + variant)
    pieces = [of_gpu[int(random.integers(len(of_gpu)))] for _ in range(SLOT_NS // SPAN_NS)]
    keys = tuple((gpu_key(gpu), metric) for metric in matrices[0].metrics)
    times = np.arange(SLOT_NS // 1_000_000_000 * HERTZ, dtype=np.int64) * (1_000_000_000 // HERTZ)
    return Block(keys, times, np.concatenate(pieces, axis=1), {})


def _chunks(patterns: Sequence[Block], gpu: int, slots: Sequence[int]) -> list[Encoded]:
    """Raw chunks of slots, a chunk of 10 s an hour, and one of 5 min for all of them."""
    chunks: list[Encoded] = []
    rolled: dict[int, list[Rolled]] = {tier.seconds: [] for tier in TIERS}
    for slot_ns in slots:
        pattern = patterns[slot_ns // SLOT_NS % VARIANTS]
        block = replace(pattern, times=pattern.times + slot_ns)
        chunks.append(encode_chunk(Content(_key(RAW, slot_ns, SLOT_NS, gpu), 0, slot_ns, [block])))
        for seconds, parts in rollups([block]).items():
            rolled[seconds] += parts
    for tier in TIERS:
        chunks += _of_tier(rolled[tier.seconds], tier.seconds, tier.merged_ns, slots, gpu)
    return chunks


def _of_tier(parts: Sequence[Rolled], seconds: int, merged_ns: int, slots: Sequence[int], gpu: int) -> list[Encoded]:
    found = []
    for start_ns in sorted({slot // merged_ns * merged_ns for slot in slots}):
        inside = [part for part in parts if start_ns <= part.times[0] < start_ns + merged_ns]
        # A day that several calls write takes a chunk of each, as late data would.
        low_ns = max(start_ns, slots[0])
        key = ChunkKey(seconds, low_ns, start_ns + merged_ns, gpu_key(gpu))
        found.append(encode_chunk(Content(key, 0, slots[-1], rolled=combine(inside))))
    return found


def _key(tier: int, start_ns: int, length_ns: int, gpu: int) -> ChunkKey:
    return ChunkKey(tier, start_ns, start_ns + length_ns, gpu_key(gpu))


def crowd(where: Place, hosts: int, days: int, now_ns: int) -> None:
    """``hosts`` others over ``days``: keys and tiny rows only, a chunk of 10 s an hour and one of 5 min a day each."""
    first = now_ns // DAY_NS * DAY_NS - days * DAY_NS
    numbers = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < {})"
    values = f"{now_ns}, {first}, {now_ns}"
    empty = "X'00'" if where.option is None else "'\\x00'::bytea"
    where.change(
        f"INSERT INTO host (id, name, recorded, agent_version, labels, accounting, has_stacks, first_seen_ns, "
        f"last_seen_ns, first_data_ns, last_data_ns) {numbers.format(hosts - 1)} "
        f"SELECT 1000 + i, 'crowd-' || i, {'0' if where.option is None else 'false'}, '0.1.0', '{{}}', '{{}}', "
        f"{'0' if where.option is None else 'false'}, {first}, {values} FROM n",
        "INSERT INTO metric_set (id, names, quanta) VALUES (1, '[]', '[]')",
        *(
            f"INSERT INTO chunk (host_id, tier, t0_ns, t1_ns, group_id, received_ns, revision, samples, codec, "
            f"metric_set_id, data) {numbers.format(days * DAY_NS // step_ns - 1)} SELECT host.id, {seconds}, "
            f"{first} + i * {step_ns}, {first} + (i + 1) * {step_ns}, 'gpu:GPU-0', {now_ns}, 1, 0, 'pco1', 1, {empty} "
            f"FROM host CROSS JOIN n WHERE host.id >= 1000"
            for seconds, step_ns in ((10, DAY_NS // 24), (300, DAY_NS))
        ),
    )
