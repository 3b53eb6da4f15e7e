"""``gapscope open``: the page's server on a file, read-only, at its recorded time; and the file over HTTP."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp.test_utils import TestClient, TestServer

from gapscope_backend.api.app import create_app
from gapscope_backend.api.config import ServerConfig
from gapscope_backend.services import access
from gapscope_backend.services.incident_files import MEDIA_TYPE, opened_file
from gapscope_backend.services.times import iso
from tests.backend.batches import Clock, fake_verdict
from tests.backend.running import Backend
from tests.incident_files.conftest import Source

OURS = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
async def served(source: Source) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """A logged-in page on ``gapscope open``."""
    words = ["-m", "gapscope_backend.cli.main", "open", str(source.file), "--port", "0"]
    process = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    about, opened = [(await process.stdout.readline()).decode() for _ in range(2)]
    assert iso(source.incident.start_ns) in about
    assert about.strip().endswith(source.incident.sentence)
    found = re.fullmatch(r"Open (http://127\.0\.0\.1:\d+)/login#token=(\S+)  .*\n", opened)
    assert found, opened
    address, token = found.groups()
    async with aiohttp.ClientSession(f"{address}/api/v1/", cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        async with session.post("login", json={"token": token}) as answer:
            assert answer.status == 200
        yield session, address
    process.send_signal(signal.SIGINT)
    assert await process.wait() == 0


async def test_the_page_shows_it_as_recorded_at_its_time(
    served: tuple[aiohttp.ClientSession, str], source: Source
) -> None:
    session, _ = served
    async with session.get("hosts") as answer:
        [host] = await answer.json()
    assert (host["host"], host["recorded"], host["state"]) == ("node-1", True, "stale")
    async with session.get(f"incidents/{source.incident.id}") as answer:
        told = await answer.json()
    assert told["summary"]["sentence"] == source.incident.sentence
    async with session.get("hosts/node-1/series?from=now-10m&entity=gpu:GPU-0") as answer:
        series = await answer.json()
    assert any(one["metric"] == "gpu_graphics_active_ratio" and one["mean"] for one in series["series"])


async def test_nothing_can_be_changed(served: tuple[aiohttp.ClientSession, str], source: Source) -> None:
    session, _ = served
    before = source.file.read_bytes()
    for path, body in (("comment", {"text": "hello"}), ("acknowledge", None)):
        async with session.post(f"incidents/{source.incident.id}/{path}", json=body, headers=OURS) as answer:
            assert answer.status == 403
            assert "only shows a file" in (await answer.json())["detail"]
    async with session.post("logout", headers=OURS) as answer:
        assert answer.status == 204
    async with session.get("hosts") as answer:
        assert answer.status == 401
    assert source.file.read_bytes() == before


@pytest.mark.both_engines
async def test_the_file_comes_over_http(source: Source, tmp_path: Path) -> None:
    clock = Clock(source.incident.end_ns + 600 * 10**9)
    app = create_app(ServerConfig(tmp_path), source.database, clock, clock.monotonic, fake_verdict)
    async with TestClient(TestServer(app)) as client:
        read = await access.create_token(source.database, "read", "*", "reader", clock())
        backend = Backend(client, source.database, clock, "", read)
        path = f"/api/v1/incidents/{source.incident.id}/file"
        answer = await backend.client.get(path, headers=backend.read)
        assert (answer.status, answer.content_type) == (200, MEDIA_TYPE)
        (tmp_path / "got.gapscope").write_bytes(await answer.read())
        async with opened_file(tmp_path / "got.gapscope") as opened:
            assert opened.incident.verdict == source.incident.verdict
        assert (await backend.client.get(path)).status == 401
        missing = await backend.client.get("/api/v1/incidents/none/file", headers=backend.read)
        assert missing.status == 404
    assert not [name for name in os.listdir(tmp_path) if name.startswith("incident-")]
