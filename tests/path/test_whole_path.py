"""One recording through everything: agent code, HTTP, database, window, verdict; and the same read directly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gapscope_agent.config import AgentConfig
from gapscope_agent.replay import run_replay
from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.api.server import ServerConfig, run_server
from gapscope_backend.cli.windows import window_of_recording
from gapscope_backend.services import admin

CASES = Path(__file__).parents[3] / "shared" / "cases"
DEMO = Path(__file__).parents[2] / "backend" / "gapscope_backend" / "demo" / "image-service-demo"
RECORDINGS = [DEMO, *sorted(path for path in CASES.glob("*") if path.is_dir())]


@asynccontextmanager
async def serving(data: Path) -> AsyncIterator[str]:
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    config = ServerConfig(data_dir=data, port=0)
    server = asyncio.create_task(run_server(config, address.set_result, stop))
    try:
        yield await address
    finally:
        stop.set()
        await server


async def diagnosis(address: str, token: str, host: str, start_ns: int, end_ns: int) -> dict[str, Any]:
    url = f"{address}/api/v1/hosts/{host}/diagnosis"
    span = {"from": str(start_ns / 1e6), "to": str(end_ns / 1e6)}
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(headers=headers) as session, session.get(url, params=span) as answer:
        assert answer.status == 200, await answer.text()
        return dict(await answer.json())


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name)
async def test_stored_and_read_directly_a_recording_has_one_verdict(recording: Path, tmp_path: Path) -> None:
    direct_window = window_of_recording(recording)
    direct = diagnose(direct_window)
    write = await admin.create_token(admin.database_url(tmp_path), "ingest", recording.name, "test")
    read = await admin.create_token(admin.database_url(tmp_path), "read", "*", "test")
    async with serving(tmp_path) as address:
        config = AgentConfig(server=address, token=write, host=recording.name)
        await run_replay(config, recording, speed=5_000, at_recorded_time=True)
        window = direct_window.start_ns, direct_window.end_ns
        stored = await diagnosis(address, read, recording.name, *window)
    assert stored["verdict"] == direct.verdict
    shares = {row["cause"]: row["share"] for row in stored["ledger"]}
    assert shares == pytest.approx({row.cause: row.share for row in direct.ledger}, abs=0.02)
    assert sum(shares.values()) == pytest.approx(1, abs=1e-6)
