"""Bytes a sample on distinct data: every recorded case once, the whole catalogue, all tiers; beside it other databases.

``python -m tests.bench.size --save size``. Twice: each case as a host of its own (chunks of 20 s), and one after
another on one host (chunks of 5 min, as in life). A sample is a value that is there; positions without one are not
counted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import select, text, update

from gapscope_agent.wire import Batch, decode_groups, encode
from gapscope_backend.services.ingest import check
from gapscope_backend.store.compaction import compact, due_slots
from gapscope_backend.store.database import Database, open_database
from gapscope_backend.store.hot import store_batches
from gapscope_backend.store.merging import merge_tiers
from gapscope_backend.store.models import Chunk, Host
from gapscope_backend.store.tiers import RAW, TIERS
from tests.bench import other_databases
from tests.bench.engines import ENGINES, Place, place
from tests.bench.machine import save
from tests.bench.other_databases import Columns
from tests.bench.recorded import CASES, OWN, batches, folders, span

LATER_NS = 3600 * 1_000_000_000
TWO_DAYS_NS = 48 * LATER_NS
LAYOUTS = ("each case a host", "one host")
SAMPLES = ("chunk", "metric_set", "device_minute")
"""Tables that hold samples; the others hold entities, events and stacks."""
NAMES = {RAW: "raw", **{tier.seconds: f"{tier.seconds} s" for tier in TIERS}}
GAP_NS = 1_000_000_000


def recorded(layout: str, cases: Sequence[Path]) -> Iterator[Batch]:
    """All batches, in a layout."""
    at_ns: int | None = None
    for folder in cases:
        start_ns, end_ns = span(folder)
        at_ns = start_ns if at_ns is None else at_ns
        shift_ns = (at_ns - start_ns) // 1000 * 1000 if layout == "one host" else 0
        yield from batches(folder, "node" if layout == "one host" else folder.name, shift_ns)
        at_ns = end_ns + shift_ns + GAP_NS


def columns(layout: str, cases: Sequence[Path]) -> list[Columns]:
    """The same as series, without what is missing."""
    parts: dict[tuple[str, str, str], list[tuple[Any, Any]]] = defaultdict(list)
    for batch in recorded(layout, cases):
        for group in decode_groups(batch):
            for metric, values in group.values.items():
                there = ~np.isnan(values)
                parts[batch.host, group.entity, metric].append((group.times[there], values[there]))
    joined = (
        Columns(*key, np.concatenate([times for times, _ in found]), np.concatenate([values for _, values in found]))
        for key, found in sorted(parts.items())
    )
    return [one for one in joined if one.times.size]


async def gapscope(where: Place, layout: str, cases: Sequence[Path], samples: int) -> dict[str, Any]:
    """What the store takes, by table and by tier."""
    database = await open_database(where.url)
    empty = await _tables(database, where)
    now_ns = time.time_ns()
    for batch in recorded(layout, cases):
        await store_batches(database, [check(encode(batch), "identity", "*", now_ns)])
    while due := await due_slots(database, now_ns + LATER_NS, 20):
        assert all([await compact(database, one) for one in due])
    # Once the day is over each hour of a tier is one chunk, and each day of the next: what is kept for long is so.
    async with database.write() as session:
        hosts = list(await session.scalars(select(Host.id)))
        await session.execute(update(Host).values(last_data_ns=Host.last_data_ns + TWO_DAYS_NS))
    for host_id in hosts:
        await merge_tiers(database, host_id)
    by_tier = await _tiers(database)
    tables = {name: size - empty.get(name, 0) for name, size in (await _tables(database, where)).items()}
    await database.close()
    held = sum(tables[name] for name in SAMPLES)
    return {
        "samples": samples,
        "bytes": held,
        "bytes_per_sample": round(held / samples, 3),
        "payload_per_sample": round(sum(part["bytes"] for part in by_tier.values()) / samples, 3),
        "everything_per_sample": round(sum(tables.values()) / samples, 3),
        "tiers": {
            name: {key: round(value / samples, 3) for key, value in part.items()} for name, part in by_tier.items()
        },
        "tables": {name: round(size / samples, 3) for name, size in sorted(tables.items()) if size > samples / 1000},
    }


async def _tiers(database: Database) -> dict[str, dict[str, int]]:
    """Bytes of chunks by tier, and of their heads."""
    found: dict[str, dict[str, int]] = {name: {"bytes": 0, "heads": 0} for name in NAMES.values()}
    async with database.read() as session:
        for tier, data in await session.execute(select(Chunk.tier, Chunk.data)):
            part = found[NAMES[tier]]
            part["bytes"] += len(data)
            part["heads"] += 4 + int.from_bytes(data[:4], "little")
    return found


async def _tables(database: Database, where: Place) -> dict[str, int]:
    """Bytes of each table with its indexes, the space that nothing uses given back before."""
    where.vacuum()
    if where.engine == "sqlite":
        query = (
            "SELECT m.tbl_name, sum(s.pgsize) FROM dbstat s JOIN sqlite_schema m ON m.name = s.name "
            "WHERE s.aggregate = TRUE GROUP BY m.tbl_name"
        )
    else:
        query = (
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' "
            "AND pg_table_is_visible(oid) AND relname NOT LIKE 'pg_%' AND relname NOT LIKE 'sql_%'"
        )
    async with database.read() as session:
        return {str(row[0]): int(row[1]) for row in await session.execute(text(query))}


def measure(cases: Sequence[Path], engines: Sequence[str] = ENGINES, others: bool = True) -> dict[str, Any]:
    """All figures, by layout and database."""
    told: dict[str, Any] = {}
    for layout in LAYOUTS:
        series = columns(layout, cases)
        samples = sum(one.times.size for one in series)
        told[layout] = {"series": len(series), "samples": samples}
        for engine in engines:
            with place(engine) as where:
                told[layout][engine] = asyncio.run(gapscope(where, layout, cases, samples))
        if others:
            told[layout] |= other_databases.measure(series, samples)
    return told


def main() -> None:
    """Measure, print, and keep the figures with ``--save``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, default=CASES if CASES.is_dir() else OWN, help="folder of recordings")
    parser.add_argument("--engine", choices=ENGINES, nargs="+", default=list(ENGINES))
    parser.add_argument("--no-others", action="store_true", help="leave VictoriaMetrics and Prometheus out")
    parser.add_argument("--save", metavar="NAME")
    asked = parser.parse_args()
    cases = folders(asked.cases)
    figures = {"cases": len(cases), "layouts": measure(cases, asked.engine, not asked.no_others)}
    print(json.dumps(figures, indent=1))
    if asked.save:
        save(asked.save, figures)


if __name__ == "__main__":
    main()
