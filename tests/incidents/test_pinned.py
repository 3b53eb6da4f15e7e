"""Retention leaves the raw data of incidents alone; the schema comes up on a database that holds data."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import Connection, inspect, select, text

from gapscope_backend.services.hosts import find_host
from gapscope_backend.services.incidents import PINNED_NS
from gapscope_backend.services.windows import load_window
from gapscope_backend.store.database import Database, connect, migration_config, open_database, sqlite_url
from gapscope_backend.store.models import Entity, Incident, IngestHot, Pin
from gapscope_backend.store.retention import INCIDENT_NS, Retention, delete_old
from tests.backend.batches import SECOND
from tests.incidents.story import START, Story, at, batches
from tests.incidents.watching import Watching

HOUR = 3600 * SECOND


@pytest.fixture
def analyse() -> Story:
    return Story()


async def spans(database: Database) -> list[tuple[float, float]]:
    async with database.read() as session:
        rows = await session.execute(select(IngestHot.t0_ns, IngestHot.t1_ns).order_by(IngestHot.t0_ns))
        return [(at(start_ns), at(end_ns)) for start_ns, end_ns in rows]


async def forget(watching: Watching, age_ns: int) -> None:
    """Retention runs when everything so far is ``age_ns`` old."""
    now_ns = watching.clock() + age_ns
    await delete_old(watching.database, Retention(), now_ns)


async def test_an_incident_and_five_minutes_around_it_stay_whole(watching: Watching) -> None:
    await watching.deliver(batches((900, 0.9), (60, 0.02), (900, 0.9), seconds=30))
    whole = await spans(watching.database)
    await forget(watching, 49 * HOUR)
    kept = await spans(watching.database)
    assert kept == [span for span in whole if span[1] > 900 - 300 and span[0] < 960 + 300]
    host = await find_host(watching.database, "node-1")
    assert at(host.first_data_ns) == 570
    window = await load_window(watching.database, host, START + 600 * SECOND, START + 1260 * SECOND)
    ((_, series),) = [(key, found) for key, found in window.series.items() if key[1] == "gpu_graphics_active_ratio"]
    assert series.times.size >= 6600
    assert window.gpus[0].owners == (100,)


async def test_an_open_incident_is_pinned_without_end(watching: Watching) -> None:
    await watching.deliver(batches((30, 0.9), (60, 0.02), seconds=10))
    await forget(watching, 2 * PINNED_NS)
    assert len(await spans(watching.database)) == 9


@pytest.mark.both_engines
async def test_a_pin_runs_out_90_days_after_the_end(watching: Watching) -> None:
    await watching.deliver(batches((30, 0.9), (30, 0.02), (30, 0.9), seconds=10))
    await forget(watching, PINNED_NS - HOUR)
    assert await spans(watching.database)
    await forget(watching, PINNED_NS + HOUR)
    assert await spans(watching.database) == []
    async with watching.database.read() as session:
        assert (await session.scalars(select(Pin))).all() == []
        assert len((await session.scalars(select(Incident))).all()) == 1
    await forget(watching, INCIDENT_NS + HOUR)
    assert await watching.incidents() == []


@pytest.mark.both_engines
async def test_without_an_incident_nothing_is_kept(watching: Watching) -> None:
    await watching.deliver(batches((90, 0.9), seconds=10))
    await forget(watching, 49 * HOUR)
    assert await spans(watching.database) == []


async def test_the_schema_comes_up_on_a_database_with_data(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "old.db")
    old = connect(url)

    def first_version(connection: Connection) -> None:
        command.upgrade(migration_config(connection), "20261201_0001")

    async with old.engine.begin() as connection:
        await connection.run_sync(first_version)
        await connection.execute(text("INSERT INTO host VALUES (1, 'node-1', 0, '0.1', '{}', '{}', 0, 1, 2, 1, 2)"))
        await connection.execute(text("INSERT INTO entity VALUES (1, 'gpu:0', 'gpu', '{}', 1, 2)"))
        await connection.execute(text("INSERT INTO ingest_hot VALUES (1, 'run', 7, 1, 2, 3, 'msgpack', x'00')"))
    await old.close()
    database = await open_database(url)
    async with database.read() as session:
        assert [row.key for row in await session.scalars(select(Entity))] == ["gpu:0"]
        assert [row.sequence for row in await session.scalars(select(IngestHot))] == [7]
        assert (await session.scalars(select(Incident))).all() == []
    async with database.engine.begin() as connection:
        tables = await connection.run_sync(lambda sync: inspect(sync).get_table_names())
    assert {"incident", "pin", "host_verdict", "host_watch"} <= set(tables)
    await database.close()
