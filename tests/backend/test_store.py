"""The database: migration and models agree, retention, durability settings, one writer at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from alembic import command
from sqlalchemy import Connection, func, inspect, select, text

from gapscope_agent.wire import Batch, Event, encode
from gapscope_backend.errors import StoreError
from gapscope_backend.services import access
from gapscope_backend.services.ingest import Ingest
from gapscope_backend.store.database import Database, connect, migration_config, open_database, sqlite_url
from gapscope_backend.store.models import Base, Entity, Host, IngestHot, LoginSession, LoginToken
from gapscope_backend.store.models import Event as EventRow
from gapscope_backend.store.retention import ROWS_PER_TRANSACTION, Retention, delete_old
from tests.backend.batches import GPU, NOW, SECOND, TICK, BatchMaker, group

HOUR = 3600 * SECOND
pytestmark = pytest.mark.both_engines


def small(maker: BatchMaker, start: int, entity: str = GPU) -> Batch:
    event = Event(start, "process_start", "python")
    return maker.make(start, start + SECOND, [group(entity, start, TICK, gpu_power_watts=np.ones(10))], events=[event])


async def take(database: Database, batch: Batch, now_ns: int) -> None:
    await Ingest(database).take(encode(batch), "identity", "*", now_ns)


async def count(database: Database, model: type[Base]) -> int:
    async with database.read() as session:
        return await session.scalar(select(func.count()).select_from(model)) or 0


async def test_models_and_migrations_agree(database: Database) -> None:
    def check(connection: Connection) -> None:
        command.check(migration_config(connection))  # raises where a migration is missing

    async with database.engine.begin() as connection:
        await connection.run_sync(check)


async def test_the_migration_can_be_taken_back(new_database: Callable[[], str]) -> None:
    database = await open_database(new_database())

    def downgrade(connection: Connection) -> list[str]:
        command.downgrade(migration_config(connection), "base")
        return list(inspect(connection).get_table_names())

    async with database.engine.begin() as connection:
        assert await connection.run_sync(downgrade) == ["alembic_version"]
    await database.close()


def test_every_per_host_key_begins_with_the_host() -> None:
    per_host = [table for table in Base.metadata.tables.values() if "host_id" in table.columns]
    assert len(per_host) >= 15
    for table in per_host:
        assert next(iter(table.primary_key.columns)).name == "host_id", table.name


async def test_an_unusable_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gapscope.db"
    path.write_bytes(b"this is no database, and long enough to be looked at" * 100)
    with pytest.raises(StoreError, match=r"cannot open the database .*gapscope\.db"):
        await open_database(sqlite_url(path))


async def test_a_database_of_a_newer_program_is_refused(database: Database, database_url: str) -> None:
    async with database.write() as session:
        await session.execute(text("UPDATE alembic_version SET version_num = '29991231_0001'"))
    with pytest.raises(StoreError, match="29991231_0001"):
        await open_database(database_url)


async def test_a_failed_write_leaves_nothing(database: Database) -> None:
    async def fail() -> None:
        async with database.write() as session:
            session.add(LoginToken(hash="x", created_ns=1, expires_ns=2, used_ns=None))
            await session.flush()
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        await fail()
    assert await count(database, LoginToken) == 0


async def test_two_processes_write_at_once(database: Database, database_url: str) -> None:
    other = connect(database_url)
    await asyncio.gather(
        *(access.create_login(database, NOW) for _ in range(10)), *(access.create_login(other, NOW) for _ in range(10))
    )
    assert await count(database, LoginToken) == 20
    await other.close()


async def test_concurrent_retries_store_one_batch(database: Database, maker: BatchMaker) -> None:
    batch = small(maker, NOW - SECOND)
    ingest = Ingest(database)
    answers = await asyncio.gather(*(ingest.take(encode(batch), "identity", "*", NOW) for _ in range(5)))
    assert sorted(answer.duplicate for answer in answers) == [False, True, True, True, True]
    assert await count(database, IngestHot) == 1


async def test_retention_deletes_by_the_time_of_receipt(database: Database, maker: BatchMaker) -> None:
    await take(database, small(maker, NOW - 10 * SECOND, "gpu:GPU-0"), NOW)
    recorded_long_ago = small(BatchMaker(host="replay"), NOW - 1000 * HOUR)
    await take(database, recorded_long_ago, NOW + 48 * HOUR)
    await take(database, small(maker, NOW + 48 * HOUR), NOW + 49 * HOUR)
    now = NOW + 49 * HOUR
    assert await delete_old(database, Retention(), now) == 1
    assert await count(database, IngestHot) == 2
    assert await count(database, EventRow) == 3
    async with database.read() as session:
        keys = set(await session.scalars(select(Entity.key).join(Host, Host.id == Entity.host_id)))
        first = await session.scalar(select(Host.first_data_ns).where(Host.name == "node-1"))
    assert keys == {GPU}
    assert first == NOW + 48 * HOUR


async def test_retention_works_in_small_transactions(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gapscope_backend.store.retention.ROWS_PER_TRANSACTION", 3)
    assert ROWS_PER_TRANSACTION == 50
    maker = BatchMaker()
    for n in range(8):
        await take(database, small(maker, NOW - 60 * SECOND + n * SECOND), NOW)
    assert await delete_old(database, Retention(), NOW + 49 * HOUR) == 8
    assert await count(database, IngestHot) == 0


async def test_expired_logins_are_forgotten(database: Database) -> None:
    token = await access.create_login(database, NOW)
    await access.verify_login(database, token, NOW)
    await delete_old(database, Retention(), NOW + 8 * 24 * HOUR)
    assert (await count(database, LoginToken), await count(database, LoginSession)) == (0, 0)
