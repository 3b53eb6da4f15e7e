"""The real server, API and worker, killed without warning while an incident opens, goes on and closes."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import aiohttp

from gapscope_agent.wire import MEDIA_TYPE, Batch, encode
from gapscope_backend.services import admin
from tests.incidents.watching import DEMO, recorded_batches

YEAR_NS = 365 * 24 * 3600 * 1_000_000_000
STEPS = 300
STEP_SECONDS = 0.1


class Server:
    """One life of ``gapscope server`` on a data folder."""

    def __init__(self, data: Path, write: str, read: str) -> None:
        self.data, self.write, self.read = data, write, read
        self.process: asyncio.subprocess.Process | None = None
        self.address = ""

    async def start(self) -> None:
        words = ("-m", "gapscope_backend.cli.main", "server", "--data", str(self.data), "--port", "0")
        life = ("--retention-hours", "90000")
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            *words,
            *life,
            *self.words(),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        line = (await self.process.stdout.readline()).decode()
        found = re.search(r"http://\S+", line)
        assert found, line
        self.address = found[0]

    def words(self) -> tuple[str, ...]:
        """More options."""
        return ()

    async def kill(self) -> None:
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()

    async def send(self, batches: list[Batch]) -> None:
        headers = {"Authorization": f"Bearer {self.write}", "Content-Type": MEDIA_TYPE}
        async with aiohttp.ClientSession(headers=headers) as session:
            for batch in batches:
                async with session.post(f"{self.address}/api/v1/ingest", data=encode(batch)) as answer:
                    assert answer.status == 200, await answer.text()

    async def incidents(self, state: str) -> list[dict[str, Any]]:
        """Ask until an incident of that state is there."""
        headers = {"Authorization": f"Bearer {self.read}"}
        async with aiohttp.ClientSession(headers=headers) as session:
            for _ in range(STEPS):
                async with session.get(f"{self.address}/api/v1/incidents") as answer:
                    found: list[dict[str, Any]] = await answer.json()
                if any(one["state"] == state for one in found):
                    return found
                await asyncio.sleep(STEP_SECONDS)
        raise AssertionError(f"no incident is {state}: {found}")


async def test_kills_lose_and_double_no_incident(tmp_path: Path) -> None:
    write = await admin.create_token(admin.database_url(tmp_path), "ingest", "demo", "test")
    server = Server(tmp_path, write, await admin.create_token(admin.database_url(tmp_path), "read", "*", "test"))
    batches = recorded_batches(DEMO, "demo", -YEAR_NS)  # no server takes them for the future
    await server.start()
    try:
        await server.send(batches[:7])
        await server.kill()
        await server.start()
        (opened,) = await server.incidents("open")
        await server.kill()
        await server.start()
        await server.send(batches[7:])
        await server.kill()
        await server.start()
        (closed,) = await server.incidents("closed")
        await server.kill()
        await server.start()
        assert [one["id"] for one in await server.incidents("closed")] == [opened["id"]]
    finally:
        await server.kill()
    assert closed["id"] == opened["id"]
    assert closed["start"] == opened["start"]
    assert closed["cause"] == "cpu_preprocess"
