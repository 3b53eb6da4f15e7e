"""A database and an application on it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer

from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Window
from gapscope_backend.api.app import create_app
from gapscope_backend.api.config import ServerConfig
from gapscope_backend.services import access
from gapscope_backend.store.database import Database, connect, open_database, sqlite_url
from tests.backend.batches import BatchMaker, Clock, fake_verdict
from tests.backend.running import Backend

Analyse = Callable[[Window], Verdict]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def maker() -> BatchMaker:
    return BatchMaker()


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file with the newest schema; copying it is cheaper than migrating anew for each test."""
    path = tmp_path_factory.mktemp("schema") / "gapscope.db"

    async def make() -> None:
        await (await open_database(sqlite_url(path))).close()

    asyncio.run(make())
    return path


@pytest.fixture
async def database(tmp_path: Path, empty_file: Path) -> AsyncIterator[Database]:
    shutil.copy(empty_file, tmp_path / "gapscope.db")
    opened = connect(sqlite_url(tmp_path / "gapscope.db"))
    yield opened
    await opened.close()


@pytest.fixture
def analyse() -> Analyse:
    return fake_verdict


@pytest.fixture
async def backend(tmp_path: Path, database: Database, clock: Clock, analyse: Analyse) -> AsyncIterator[Backend]:
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<!doctype html><title>Gapscope</title>")
    (static / "favicon.svg").write_text("<svg/>")
    (static / "assets" / "app-1a2b.js").write_text("export {}")
    config = ServerConfig(data_dir=tmp_path, static_dir=static)
    server = TestServer(create_app(config, database, clock, clock.monotonic, analyse))
    await server.start_server(auto_decompress=False)
    client = TestClient(server)
    yield Backend(
        client,
        database,
        clock,
        await access.create_token(database, "ingest", "node-*", "agents", clock()),
        await access.create_token(database, "read", "*", "reader", clock()),
    )
    await client.close()
