"""PostgreSQL crashes while batches come in: what was acknowledged is there once, and everything goes on by itself."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import ClientError
from sqlalchemy import select

from gapscope_backend.services import admin
from gapscope_backend.store.database import Database, connect
from gapscope_backend.store.integrity import check_database
from gapscope_backend.store.models import IngestHot, IngestRun
from gapscope_backend.store.work import list_work
from tests.postgres import PostgresServer, postgres_server
from tests.roles.processes import eventually, made, post, server, until

CRASHES = 3
HOSTS = 4
BATCHES = 60


@pytest.fixture
def durable() -> Iterator[PostgresServer]:
    """A server that keeps what it has committed."""
    with postgres_server(fast=False) as running:
        yield running


async def stored_batches(database: Database) -> list[tuple[str, int]]:
    """Run and number of every batch, hot or in chunks."""
    async with database.read() as session:
        hot = await session.execute(select(IngestHot.run_id, IngestHot.sequence))
        runs = (await session.execute(select(IngestRun.run_id, IngestRun.ranges))).all()
        in_chunks = [(run, n) for run, ranges in runs for first, last in ranges for n in range(first, last + 1)]
        return [*((run, number) for run, number in hot), *in_chunks]


async def test_acknowledged_batches_outlive_crashes_of_the_database(durable: PostgresServer, tmp_path: Path) -> None:
    url = durable.create("gapscope")
    acknowledged: set[tuple[str, int]] = set()
    refused = 0
    async with server(tmp_path, "--port", "0", "--retention-hours", "90000", database=url) as running:
        address = await running.address()
        token = await admin.create_token(url, "ingest", "*", "")

        async def send(host: str) -> None:
            nonlocal refused
            for batch in made(host, BATCHES):
                while True:
                    try:
                        await post(address, token, batch)
                        break
                    except (AssertionError, ClientError):  # 503, or the connection broke
                        refused += 1
                        await asyncio.sleep(0.1)
                acknowledged.add((batch.run_id, batch.sequence))

        sending = [asyncio.create_task(send(f"node-{number}")) for number in range(HOSTS)]
        for crash in range(1, CRASHES + 1):
            enough = crash * HOSTS * BATCHES // (CRASHES + 1)
            await until(lambda enough=enough: len(acknowledged) >= enough)  # type: ignore[misc]
            await asyncio.to_thread(durable.stop, signal.SIGKILL)
            await asyncio.to_thread(durable.start)
        await asyncio.gather(*sending)
        database = connect(url)
        async with database.read() as session:
            stored = [
                (run, number) for run, number in await session.execute(select(IngestHot.run_id, IngestHot.sequence))
            ]
        assert sorted(stored) == sorted(acknowledged)
        assert len(stored) == HOSTS * BATCHES
        assert refused > 0
        assert await check_database(database) == []

        async def watched_again() -> bool:
            return any(row.kind == "watch" and row.claimed_by for row in await list_work(database))

        await eventually(watched_again)
        await database.close()
