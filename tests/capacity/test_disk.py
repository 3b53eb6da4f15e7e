"""A disk that fills up: batches are refused before it is full and taken again after, retention goes on meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from aiohttp.test_utils import TestClient, TestServer
from sqlalchemy import text

from gapscope_agent.wire import Batch, encode
from gapscope_backend.api.app import create_app
from gapscope_backend.api.config import ServerConfig
from gapscope_backend.errors import StorageFullError
from gapscope_backend.services import access
from gapscope_backend.store.database import Database
from gapscope_backend.store.disk import DiskGuard, Space, space_of
from gapscope_backend.store.models import IngestHot
from gapscope_backend.store.retention import HOUR_NS, Retention, delete_old
from tests.backend.batches import GPU, NOW, SECOND, TICK, BatchMaker, Clock, fake_verdict, group
from tests.backend.running import Backend
from tests.store.storing import compact_all, count


@dataclass
class Disk:
    """A disk of 1000 bytes."""

    free: int = 500
    looks: int = 0

    async def find(self) -> Space:
        self.looks += 1
        return Space(self.free, 1000)


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
async def backend(tmp_path: Path, database: Database, clock: Clock, disk: Disk) -> AsyncIterator[Backend]:
    app = create_app(ServerConfig(tmp_path), database, clock, clock.monotonic, fake_verdict, disk.find)
    server = TestServer(app)
    await server.start_server(auto_decompress=False)
    client = TestClient(server)
    ingest = await access.create_token(database, "ingest", "*", "agents", clock())
    read = await access.create_token(database, "read", "*", "reader", clock())
    yield Backend(client, database, clock, ingest, read)
    await client.close()


def batch(maker: BatchMaker, start_ns: int = NOW - 60 * SECOND) -> Batch:
    values = np.linspace(100, 200, 10)
    return maker.make(start_ns, start_ns + SECOND, [group(GPU, start_ns, TICK, gpu_power_watts=values)])


async def test_it_stops_below_five_percent_and_goes_on_above_seven(
    backend: Backend, disk: Disk, maker: BatchMaker, clock: Clock
) -> None:
    for free, status in ((500, 200), (50, 200), (49, 507), (69, 507), (70, 507), (71, 200), (60, 200), (0, 507)):
        disk.free = free
        clock.advance(2)
        response = await backend.post(encode(batch(maker)))
        assert response.status == status, free
        health = await (await backend.client.get("/api/v1/health")).json()
        assert health["read_only"] == (status == 507)
        if status == 507:
            assert response.headers["Retry-After"] == "30"
            problem = await response.json()
            assert problem["error"] == "storage_full"
            assert "gapscope db capacity" in problem["detail"]
    assert await count(backend.database, IngestHot) == 4


async def test_reading_retention_and_compaction_go_on(
    backend: Backend, disk: Disk, maker: BatchMaker, clock: Clock
) -> None:
    await backend.store(batch(maker))
    disk.free = 10
    clock.advance(600)
    refused = batch(maker)
    assert (await backend.post(encode(refused))).status == 507
    assert (await backend.client.get("/api/v1/hosts", headers=backend.read)).status == 200
    assert await compact_all(backend.database, clock()) == 1
    assert await delete_old(backend.database, Retention(), clock() + 49 * HOUR_NS) > 0
    disk.free = 300
    clock.advance(2)
    acknowledged = await (await backend.post(encode(refused))).json()
    assert acknowledged == {"stored": True, "duplicate": False}


async def test_the_disk_is_looked_at_once_a_second(disk: Disk, clock: Clock) -> None:
    guard = DiskGuard(disk.find, clock.monotonic)
    for _ in range(50):
        await guard.check()
        clock.advance(0.1)
    assert 5 <= disk.looks <= 6


async def test_a_disk_that_cannot_be_seen_stops_nothing(clock: Clock) -> None:
    async def nothing() -> Space | None:
        return None

    guard = DiskGuard(nothing, clock.monotonic)
    await guard.check()
    assert not guard.read_only


async def test_pages_that_retention_freed_are_room(database: Database, maker: BatchMaker, clock: Clock) -> None:
    async with database.write() as session:
        await session.execute(text("CREATE TABLE filler AS SELECT zeroblob(50000000) AS x"))
    before = await space_of(database)
    async with database.write() as session:
        await session.execute(text("DELETE FROM filler"))
    after = await space_of(database)
    assert before is not None
    assert after is not None
    assert after.free_bytes - before.free_bytes > 20_000_000
    assert after.total_bytes == before.total_bytes > after.free_bytes


@pytest.mark.parametrize("engine", ["postgresql"])
async def test_the_disk_of_postgresql_is_not_seen(engine: str, database: Database, clock: Clock) -> None:
    assert await space_of(database) is None


async def test_a_guard_that_is_read_only_says_what_to_do(disk: Disk, clock: Clock) -> None:
    disk.free = 1
    with pytest.raises(StorageFullError, match=r"5% of the server's disk is free.*until 7%"):
        await DiskGuard(disk.find, clock.monotonic).check()
