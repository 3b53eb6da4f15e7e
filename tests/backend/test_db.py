"""``gapscope db``: what is wrong is found, what is there is counted, and a copy holds what the original held."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, select, text

from gapscope_agent.wire import encode
from gapscope_backend.cli.main import main
from gapscope_backend.errors import StoreError
from gapscope_backend.services.ingest import Ingest
from gapscope_backend.store.citus import DISTRIBUTED, LOCAL, REFERENCE, distribute, placements, unfit_keys
from gapscope_backend.store.database import Database, connect
from gapscope_backend.store.integrity import check_database
from gapscope_backend.store.models import Base, IngestRun
from gapscope_backend.store.sizes import read_sizes
from tests.backend.batches import GPU, NOW, SECOND, TICK, BatchMaker, group
from tests.postgres import PostgresServer

BATCHES = 5

both = pytest.mark.both_engines


@pytest.fixture
async def filled(database: Database) -> Database:
    maker = BatchMaker()
    for at in range(BATCHES):
        start = NOW - 60 * SECOND + at * SECOND
        batch = maker.make(start, start + SECOND, [group(GPU, start, TICK, gpu_power_watts=np.ones(10))])
        await Ingest(database).take(encode(batch), "identity", "*", NOW)
    return database


async def counts(database: Database) -> dict[str, int]:
    async with database.read() as session:
        return {
            name: await session.scalar(select(func.count()).select_from(table)) or 0
            for name, table in Base.metadata.tables.items()
        }


@both
async def test_a_sound_database_has_nothing_wrong(filled: Database) -> None:
    assert await check_database(filled) == []


@both
async def test_an_older_schema_is_told(new_database: Callable[[], str], capsys: pytest.CaptureFixture[str]) -> None:
    database = connect(new_database())
    (found,) = await check_database(database)
    assert found.startswith("the schema is at no version")
    assert "gapscope db upgrade" in found
    await database.close()


@both
async def test_a_schema_that_was_changed_is_told(filled: Database) -> None:
    async with filled.write() as session:
        await session.execute(text("DROP INDEX ix_event_received_ns"))
    (found,) = await check_database(filled)
    assert "add_index" in found
    assert "ix_event_received_ns" in found


@both
async def test_a_batch_that_is_hot_and_in_chunks_is_told(filled: Database) -> None:
    async with filled.write() as session:
        session.add(IngestRun(host_id=1, run_id="run-0000-0001", ranges=[[2, 3]], received_ns=NOW))
    assert await check_database(filled) == [
        f"batch {number} of run run-0000-0001 of host 1 is hot and in chunks" for number in (2, 3)
    ]


async def test_a_row_without_its_host_is_told(filled: Database) -> None:
    async with filled.engine.connect() as connection:
        driver = (await connection.get_raw_connection()).driver_connection
        assert driver is not None
        await driver.execute("PRAGMA foreign_keys=OFF")
        await driver.execute("UPDATE ingest_hot SET host_id = 77 WHERE sequence = 1")
        await driver.commit()
        await connection.invalidate()
    assert any("ingest_hot belongs to no host" in found for found in await check_database(filled))


@both
async def test_rows_and_bytes_are_counted(filled: Database) -> None:
    sizes = await read_sizes(filled)
    rows = {table.name: table.rows for table in sizes.tables}
    assert rows == await counts(filled)
    assert rows["ingest_hot"] == BATCHES
    hot = next(table for table in sizes.tables if table.name == "ingest_hot")
    assert hot.size_bytes is not None
    assert 0 < hot.size_bytes < sizes.size_bytes
    (host,) = sizes.hosts
    assert (host.name, host.hot_batches, host.samples, host.bytes_per_sample) == ("node-1", BATCHES, 0, None)
    assert host.hot_bytes > 100


@both
def test_the_command_upgrades_checks_and_counts(
    new_database: Callable[[], str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = new_database()
    assert main(["db", "check", "--database", url]) == 1
    monkeypatch.setenv("GAPSCOPE_DATABASE", url)
    assert main(["db", "upgrade"]) == 0
    assert main(["db", "check"]) == 0
    assert main(["db", "stats"]) == 0
    said = capsys.readouterr().out
    assert "all is well" in said
    assert "ingest_hot" in said


async def test_a_backup_of_a_file_in_use_holds_what_was_there(filled: Database, tmp_path: Path) -> None:
    async with filled.write() as session:
        await session.execute(text("UPDATE host SET agent_version = 'not yet committed'"))
        url = str(filled.engine.url)
        copy = tmp_path / "copy.db"
        words = ["-m", "gapscope_backend.cli.main", "db", "backup", str(copy), "--database", url]
        backing_up = await asyncio.create_subprocess_exec(sys.executable, *words)
        assert await backing_up.wait() == 0
    restored = connect(f"sqlite:///{copy}")
    assert await check_database(restored) == []
    assert await counts(restored) == await counts(filled)
    async with restored.read() as session:
        assert await session.scalar(text("SELECT agent_version FROM host")) == "0.1.0"
    assert copy.stat().st_mode & 0o777 == 0o600
    await restored.close()


def test_a_backup_overwrites_nothing(database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("dear")
    assert main(["db", "backup", str(tmp_path / "mine"), "--database", database_url]) == 2
    assert "exists" in capsys.readouterr().err
    assert (tmp_path / "mine").read_text() == "dear"


@pytest.mark.parametrize("engine", ["postgresql"])
async def test_a_dump_of_postgresql_holds_what_was_there(
    filled: Database, engine: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    name = str(filled.engine.url.database)
    dump = postgres.folder / "dump"
    postgres.run("pg_dump", "-h", str(postgres.folder), "-U", "postgres", "-Fc", "-f", str(dump), name)
    url = postgres.create(f"{name}_restored")
    postgres.run("pg_restore", "-h", str(postgres.folder), "-U", "postgres", "-d", f"{name}_restored", str(dump))
    restored = connect(url)
    assert await check_database(restored) == []
    assert await counts(restored) == await counts(filled)
    maker = BatchMaker(host="node-2")
    batch = maker.make(NOW - SECOND, NOW, [group(GPU, NOW - SECOND, TICK, gpu_power_watts=np.ones(10))])
    assert not (await Ingest(restored).take(encode(batch), "identity", "*", NOW)).duplicate
    await restored.close()
    postgres.drop(f"{name}_restored")


def test_every_table_has_its_place() -> None:
    found = placements()
    assert set(found) == set(Base.metadata.tables)
    apart = {name for name, where in found.items() if where == DISTRIBUTED}
    assert {"ingest_hot", "chunk", "event", "entity", "incident", "pin", "device_minute"} <= apart
    assert {name for name, where in found.items() if where == REFERENCE} == {"host", "metric_set"}
    assert {name for name, where in found.items() if where == LOCAL} == {
        "alert_rule",
        "channel",
        "delivery",
        "login_session",
        "login_token",
        "silence",
        "token",
        "work",
    }


def test_every_key_of_a_distributed_table_holds_the_host() -> None:
    apart = [Base.metadata.tables[name] for name, where in placements().items() if where == DISTRIBUTED]
    assert [unfit for table in apart for unfit in unfit_keys(table)] == []


FAKE = """
CREATE TABLE placed(table_name regclass PRIMARY KEY, citus_table_type text, at serial);
CREATE VIEW citus_tables AS SELECT table_name, citus_table_type FROM placed;
CREATE FUNCTION create_reference_table(regclass) RETURNS void LANGUAGE sql AS
    $$ INSERT INTO placed VALUES ($1, 'reference') $$;
CREATE FUNCTION create_distributed_table(name regclass, key text) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        IF name = nullif(current_setting('fake.breaks', true), '')::regclass THEN RAISE 'a node is down'; END IF;
        IF key <> 'host_id' THEN RAISE 'wrong key'; END IF;
        INSERT INTO placed VALUES (name, 'distributed')
            ON CONFLICT (table_name) DO UPDATE SET citus_table_type = 'distributed';
    END $$;
"""


@pytest.mark.parametrize("engine", ["postgresql"])
class TestDistribute:
    """Against functions that note how they were called; a real Citus is not part of the tests."""

    async def placed(self, database: Database) -> list[tuple[str, str]]:
        async with database.read() as session:
            rows = await session.execute(text("SELECT table_name::text, citus_table_type FROM placed ORDER BY at"))
            return [(row[0], row[1]) for row in rows]

    async def fake(self, database: Database, postgres: PostgresServer) -> None:
        for statement in FAKE.split(";\nCREATE"):
            postgres.execute(
                statement if statement.lstrip().startswith("CREATE") else f"CREATE{statement}",
                str(database.engine.url.database),
            )

    async def test_each_table_is_placed_once(self, database: Database, engine: str, postgres: PostgresServer) -> None:
        await self.fake(database, postgres)
        done = await distribute(database)
        wanted = [(name, where) for name, where in placements().items() if where != LOCAL]
        assert await self.placed(database) == wanted
        assert done == [f"{name}: {where}" for name, where in wanted]
        assert await distribute(database) == []

    async def test_it_goes_on_after_a_failure(self, database: Database, engine: str, postgres: PostgresServer) -> None:
        await self.fake(database, postgres)
        name = database.engine.url.database
        postgres.execute(f"ALTER DATABASE {name} SET fake.breaks = 'incident'")
        with pytest.raises(Exception, match="a node is down"):
            await distribute(database)
        before = await self.placed(database)
        assert len(before) > 0
        postgres.execute(f"ALTER DATABASE {name} RESET fake.breaks")
        await database.engine.dispose()
        done = await distribute(database)
        assert len(before) + len(done) == sum(where != LOCAL for where in placements().values())

    async def test_a_table_that_an_upgrade_brought_is_distributed(
        self, database: Database, engine: str, postgres: PostgresServer
    ) -> None:
        await self.fake(database, postgres)
        await distribute(database)
        # A new table with a foreign key to a reference table is taken up by Citus as a local one.
        name = str(database.engine.url.database)
        postgres.execute("UPDATE placed SET citus_table_type = 'local' WHERE table_name = 'annotation'::regclass", name)
        assert await distribute(database) == ["annotation: distributed"]

    async def test_a_table_placed_otherwise_is_told(
        self, database: Database, engine: str, postgres: PostgresServer
    ) -> None:
        await self.fake(database, postgres)
        postgres.execute("INSERT INTO placed VALUES ('host', 'distributed')", str(database.engine.url.database))
        with pytest.raises(StoreError, match="host is distributed, but must be reference"):
            await distribute(database)


@both
async def test_without_citus_it_says_what_to_do(database: Database) -> None:
    with pytest.raises(StoreError, match=r"CREATE EXTENSION citus|this database is SQLite"):
        await distribute(database)
