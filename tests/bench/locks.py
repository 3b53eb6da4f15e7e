"""How long compaction, merging and retention hold the write lock of an SQLite file, with as many rows as in life.

``python -m tests.bench.locks``: a slot of 60 batches of 25,000 values is compacted several times over, finished hours
are merged, and retention deletes thousands of chunks of their usual size. A hold counts from the moment at which BEGIN
IMMEDIATE has the lock to the end of the commit, its wait for the disk and the checkpoint that it may bring included.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from sqlalchemy import Connection, event
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from gapscope_backend.store.compaction import compact, due_slots
from gapscope_backend.store.database import Database, open_database
from gapscope_backend.store.engine import WRITES
from gapscope_backend.store.merging import merge_tiers
from gapscope_backend.store.retention import Retention, delete_old
from gapscope_backend.store.tiers import SLOT_NS
from tests.bench import backlog
from tests.bench.engines import place
from tests.bench.filling import DAY_NS, fill
from tests.bench.fleet import templates
from tests.bench.machine import save, spread_ms

HOSTS = 20
HOUR_NS = DAY_NS // 24
Answer = TypeVar("Answer")


class Held:
    """Notes how long each write transaction of a database has held the lock."""

    def __init__(self, database: Database) -> None:
        self.seconds: list[float] = []
        self._began = 0.0
        self._write = database.write
        self._write_in_thread = database.write_in_thread
        database.write = self._around  # type: ignore[method-assign]
        database.write_in_thread = self._in_thread  # type: ignore[method-assign]
        for engine in (database.engine.sync_engine, database._thread_engine):
            event.listen(engine, "begin", self._begin)

    def _begin(self, connection: Connection) -> None:
        if connection.get_execution_options().get(WRITES, False):
            self._began = time.perf_counter()

    @asynccontextmanager
    async def _around(self) -> AsyncIterator[AsyncSession]:
        with self._timed():
            async with self._write() as session:
                yield session

    async def _in_thread(self, work: Callable[[Session], Answer]) -> Answer:
        with self._timed():
            return await self._write_in_thread(work)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        self._began = 0.0
        try:
            yield
        finally:
            if self._began:
                self.seconds.append(time.perf_counter() - self._began)

    def taken(self) -> dict[str, float]:
        """The figures since the last call."""
        seconds, self.seconds = self.seconds, []
        return spread_ms(seconds)


async def measure(hosts: int = HOSTS, hours: int = 24) -> dict[str, Any]:
    """Holds by kind of work, in ms."""
    with place("sqlite") as where:
        database = await open_database(where.url)
        now_ns = time.time_ns()
        await backlog.lay(database, templates(16), hosts, now_ns)
        held = Held(database)
        told = {}
        for due in await due_slots(database, now_ns, hosts):
            assert await compact(database, due) == backlog.BATCHES_A_SLOT
        told["compaction"] = held.taken()
        await fill(database, now_ns - hours * HOUR_NS, hours=hours)
        held.taken()
        rows = where.ask("SELECT count(*) FROM chunk")
        for host_id in range(1, hosts + 3):
            await merge_tiers(database, host_id)
        told["merging"] = held.taken()
        file_bytes = where.disk_bytes
        await delete_old(database, Retention(), now_ns + 400 * DAY_NS)
        told["retention"] = held.taken() | {"rows": rows, "file_bytes": file_bytes}
        await database.close()
    assert SLOT_NS == backlog.BATCHES_A_SLOT * 5_000_000_000
    return told


def main() -> None:
    """Measure, print, and keep the figures with ``--save``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=HOSTS)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--save", metavar="NAME")
    asked = parser.parse_args()
    figures = asyncio.run(measure(asked.hosts, asked.hours))
    print(json.dumps(figures, indent=1))
    if asked.save:
        save(asked.save, {"held_ms": figures})


if __name__ == "__main__":
    main()
