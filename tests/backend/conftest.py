"""A database and an application on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer

from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Window
from gapscope_backend.api.app import create_app
from gapscope_backend.api.config import ServerConfig
from gapscope_backend.services import access
from gapscope_backend.store.database import Database
from tests.backend.batches import BatchMaker, Clock, fake_verdict
from tests.backend.running import Backend

Analyse = Callable[[Window], Verdict]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def maker() -> BatchMaker:
    return BatchMaker()


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
