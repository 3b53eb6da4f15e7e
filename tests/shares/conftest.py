"""A server on a host with a closed incident, somebody who is logged in there, and somebody who is not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestClient, TestServer

from gapscope_backend.api.app import create_app
from gapscope_backend.api.config import ServerConfig
from gapscope_backend.api.context import CONTEXT, Context
from gapscope_backend.services import access
from gapscope_backend.services.shares import Shares
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Incident
from tests.backend.batches import Clock
from tests.incident_files.conftest import fill
from tests.incidents.story import START, Story

SECOND = 10**9
OURS = {"Sec-Fetch-Site": "same-origin"}
API = "/api/v1"
AN_HOUR_ON = START + 3600 * SECOND


@dataclass
class Sharing:
    """A logged-in client and a stranger on one server. ``now`` moves its clock."""

    client: TestClient[Any, Any]
    stranger: TestClient[Any, Any]
    database: Database
    clock: Clock
    incident: Incident
    folder: Path

    @property
    def shares(self) -> Shares:
        """The server's own."""
        assert self.client.app is not None
        context: Context = self.client.app[CONTEXT]
        return context.shares

    async def share(self, expected: int = 200, **body: Any) -> Any:
        """Ask for a share as the person; its answer."""
        response = await self.client.post(f"{API}/shares", json=body, headers=OURS)
        assert response.status == expected, await response.text()
        return await response.json()

    async def get(self, path: str, stranger: bool = False) -> tuple[int, Any]:
        """Status and JSON of a path of the API."""
        response = await (self.stranger if stranger else self.client).get(f"{API}{path}")
        return response.status, await response.json()


@pytest.fixture
async def sharing(tmp_path: Path, database: Database) -> AsyncIterator[Sharing]:
    incident = await fill(database)
    clock = Clock(AN_HOUR_ON)
    static = tmp_path / "static"
    static.mkdir()
    (static / "index.html").write_text("<!doctype html><title>Gapscope</title>")
    config = ServerConfig(data_dir=tmp_path, static_dir=static)
    server = TestServer(create_app(config, database, clock, clock.monotonic, Story()))
    await server.start_server(auto_decompress=False)
    jar = aiohttp.CookieJar(unsafe=True)
    client, stranger = TestClient(server, cookie_jar=jar), TestClient(server)
    login = await access.create_login(database, clock())
    assert (await client.post(f"{API}/login", json={"token": login}, headers=OURS)).status == 200
    yield Sharing(client, stranger, database, clock, incident, tmp_path)
    await stranger.close()
    await client.close()
