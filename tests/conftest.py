"""Databases for all tests: a file of SQLite, and for tests marked ``both_engines`` a real PostgreSQL too."""

from __future__ import annotations

import asyncio
import itertools
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from gapscope_backend.store.database import Database, connect, open_database, sqlite_url
from tests.postgres import PostgresServer, postgres_server

ENGINES = ("sqlite", "postgresql")
TEMPLATE = "gapscope_template"
_numbers = itertools.count(1)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames and metafunc.definition.get_closest_marker("both_engines"):
        metafunc.parametrize("engine", ENGINES)


@pytest.fixture
def engine() -> str:
    """The engine of this test's databases."""
    return "sqlite"


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One PostgreSQL for the whole run, started by the first test that wants it."""
    with postgres_server() as server:
        yield server


def _make(url: str) -> None:
    async def make() -> None:
        await (await open_database(url)).close()

    asyncio.run(make())


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file with the newest schema; copying it is cheaper than migrating anew for each test."""
    path = tmp_path_factory.mktemp("schema") / "gapscope.db"
    _make(sqlite_url(path))
    return path


@pytest.fixture(scope="session")
def empty_template(postgres: PostgresServer) -> str:
    """Name of a PostgreSQL database with the newest schema, to make others of."""
    _make(postgres.create(TEMPLATE))
    return TEMPLATE


@pytest.fixture
def new_database(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[], str]]:
    """Makes databases of this test's engine without any table; gives their addresses."""
    names: list[str] = []

    def make() -> str:
        name = f"new_{next(_numbers)}"
        if engine == "sqlite":
            return sqlite_url(tmp_path / f"{name}.db")
        names.append(name)
        return str(request.getfixturevalue("postgres").create(name))

    yield make
    for name in names:
        request.getfixturevalue("postgres").drop(name)


@pytest.fixture
def database_url(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """Address of an empty database with the newest schema."""
    if engine == "sqlite":
        shutil.copy(request.getfixturevalue("empty_file"), tmp_path / "gapscope.db")
        yield sqlite_url(tmp_path / "gapscope.db")
        return
    server, name = request.getfixturevalue("postgres"), f"test_{next(_numbers)}"
    yield server.create(name, request.getfixturevalue("empty_template"))
    server.drop(name)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    opened = connect(database_url)
    yield opened
    await opened.close()
