"""What each engine is set to do, and how its failures are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text, update

from gapscope_backend.errors import BusyError, StoreError
from gapscope_backend.services import access
from gapscope_backend.store.database import Database, connect, open_database, shown_url
from gapscope_backend.store.engine import parse_url
from gapscope_backend.store.models import Token
from tests.backend.batches import NOW
from tests.postgres import PostgresServer

OPENERS = 6


@pytest.fixture
async def on_postgres(postgres: PostgresServer, empty_template: str) -> AsyncIterator[Database]:
    database = connect(postgres.create("engine", empty_template))
    yield database
    await database.close()
    postgres.drop("engine")


async def settings(database: Database, *statements: str) -> list[object]:
    async with database.read() as session:
        return [(await session.execute(text(statement))).scalar() for statement in statements]


async def test_sqlite_runs_as_an_acknowledgement_needs(database: Database) -> None:
    assert await settings(database, "PRAGMA journal_mode", "PRAGMA synchronous") == ["wal", 2]


async def test_postgresql_holds_nothing_for_good(on_postgres: Database) -> None:
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "application_name")
    assert await settings(on_postgres, *(f"SHOW {name}" for name in names)) == ["1min", "10s", "1min", "gapscope"]


async def test_a_patient_connection_lets_statements_run_on(postgres: PostgresServer) -> None:
    database = connect(postgres.url("postgres"), patient=True)
    assert await settings(database, "SHOW statement_timeout", "SHOW lock_timeout") == ["0", "10s"]
    await database.close()


async def test_a_reader_of_postgresql_cannot_write(on_postgres: Database) -> None:
    async def write() -> None:
        async with on_postgres.read() as session:
            await session.execute(text("DELETE FROM token"))

    with pytest.raises(BusyError):
        await write()


@pytest.mark.parametrize(
    ("given", "driver"),
    [
        ("postgres://u@h/d", "postgresql+psycopg"),
        ("postgresql://u@h/d", "postgresql+psycopg"),
        ("sqlite:///x.db", "sqlite+aiosqlite"),
    ],
)
def test_addresses_mean_one_driver(given: str, driver: str) -> None:
    assert parse_url(given).drivername == driver


@pytest.mark.parametrize("given", ["mysql://h/d", "no address", ""])
def test_other_addresses_are_refused(given: str) -> None:
    with pytest.raises(StoreError, match="want postgresql://"):
        parse_url(given)


@pytest.mark.parametrize("url", ["postgresql://u:s3cret@h/d", "postgresql://u@h/d?password=s3cret"])
async def test_a_password_is_shown_nowhere(url: str) -> None:
    assert "s3cret" not in shown_url(url)
    with pytest.raises(StoreError, match="cannot open the database") as told:
        await open_database(url.replace("@h/", "@127.0.0.1:9/"))
    assert "s3cret" not in str(told.value)


@pytest.mark.both_engines
async def test_processes_that_start_at_once_find_one_schema(database_url: str) -> None:
    opened = await asyncio.gather(*(open_database(database_url) for _ in range(OPENERS)))
    for database in opened:
        await database.close()


async def test_two_that_lock_each_other_out_may_try_again(on_postgres: Database) -> None:
    for name in ("a", "b"):
        await access.create_token(on_postgres, "read", "*", name, NOW)
    holds = {"a": asyncio.Event(), "b": asyncio.Event()}

    async def change(first: str, second: str) -> None:
        async with on_postgres.write() as session:
            await session.execute(update(Token).where(Token.name == first).values(last_used_ns=1))
            holds[first].set()
            await holds[second].wait()
            await session.execute(update(Token).where(Token.name == second).values(last_used_ns=1))

    ends = await asyncio.gather(change("a", "b"), change("b", "a"), return_exceptions=True)
    assert [type(end) for end in ends if end is not None] == [BusyError]


async def test_a_connection_that_was_cut_is_replaced(on_postgres: Database, postgres: PostgresServer) -> None:
    async def write() -> None:
        async with on_postgres.write() as session:
            await session.execute(update(Token).values(last_used_ns=1))
            postgres.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'engine'")
            await session.execute(update(Token).values(last_used_ns=2))

    with pytest.raises(BusyError):
        await write()
    assert await settings(on_postgres, "SELECT count(*) FROM token") == [0]


async def test_readers_of_postgresql_get_bytes_as_they_are(on_postgres: Database) -> None:
    everything = bytes(range(256)) * 100
    query = text("SELECT CAST(:held AS bytea) AS held, CAST(:told AS json) AS told, 1.5::float8, 7::bigint, true, 'x'")
    given = {"held": everything, "told": '{"a": [1, null]}'}
    expected = (everything, {"a": [1, None]}, 1.5, 7, True, "x")
    async with on_postgres.read() as session:
        assert tuple((await session.execute(query, given)).one()) == expected
        driver = (await (await session.connection()).get_raw_connection()).driver_connection
        assert driver is not None
        assert driver.cursor().format == 1
        streamed = [tuple(row) async for row in await session.stream(query, given)]
    assert streamed == [expected]
    async with on_postgres.write() as session:
        assert tuple((await session.execute(query, given)).one()) == expected
        assert driver.cursor().format == 0
