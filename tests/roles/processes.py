"""Server processes of tests, and ways to talk to them."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import psutil

from gapscope_agent.wire import MEDIA_TYPE, Batch, encode
from tests.backend.batches import GPU, SECOND, TICK, BatchMaker, group

STEPS, STEP_SECONDS = 400, 0.1
OLD = 1_700_000_000 * SECOND


class Process:
    """A running ``gapscope server`` and what it says."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self.process, self.log = process, log

    def said(self) -> str:
        return self.log.read_text()

    async def address(self, number: int = 1) -> str:
        """The address that it told for the ``number``-th time."""
        await until(lambda: len(re.findall(r"listening on (\S+)", self.said())) >= number, self.said)
        return str(re.findall(r"listening on (\S+)", self.said())[number - 1])

    def mark(self) -> str:
        """What its name as a worker ends with."""
        return (self.log.parent / "worker-1.lock").read_text()

    def child(self, role: str) -> psutil.Process | None:
        children = psutil.Process(self.process.pid).children()
        return next((one for one in children if role in words_of(one)), None)

    async def end(self) -> int:
        if self.process.returncode is None:
            self.process.terminate()
        return await asyncio.wait_for(self.process.wait(), 30)


def words_of(process: psutil.Process) -> list[str]:
    """Its command line; nothing of one that has just died."""
    try:
        words: list[str] = process.cmdline()
        return words
    except (psutil.ZombieProcess, psutil.NoSuchProcess):
        return []


async def until(holds: Callable[[], object], said: Callable[[], str] = str) -> None:
    for _ in range(STEPS):
        if holds():
            return
        await asyncio.sleep(STEP_SECONDS)
    raise AssertionError(f"it did not come to that: {said()}")


async def eventually(holds: Callable[[], Awaitable[object]]) -> None:
    for _ in range(STEPS):
        if await holds():
            return
        await asyncio.sleep(STEP_SECONDS)
    raise AssertionError("it did not come to that")


@asynccontextmanager
async def server(data: Path, *words: str, database: str | None = None) -> AsyncIterator[Process]:
    log = _log_in(data)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GAPSCOPE_")}
    if database:
        environment["GAPSCOPE_DATABASE"] = database
    with log.open("wb") as out:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gapscope_backend.cli.main", "server", "--data", str(data), *words),
            stdout=out,
            stderr=out,
            env=environment,
            start_new_session=True,
        )
    running = Process(process, log)
    try:
        yield running
    finally:
        await running.end()


def _log_in(data: Path) -> Path:
    data.mkdir(exist_ok=True)
    return data / "said"


async def get(address: str, path: str, token: str) -> Any:
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(headers=headers) as session, session.get(f"{address}/api/v1{path}") as answer:
        assert answer.status == 200, await answer.text()
        return await answer.json()


async def post(address: str, token: str, batch: Batch) -> bool:
    """Send a batch; tell whether it was a duplicate."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": MEDIA_TYPE}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.post(f"{address}/api/v1/ingest", data=encode(batch)) as answer,
    ):
        assert answer.status == 200, await answer.text()
        return bool((await answer.json())["duplicate"])


def made(host: str, count: int) -> list[Batch]:
    maker = BatchMaker(host=host, run_id=f"run-{host}")
    starts = [OLD + at * SECOND for at in range(count)]
    return [
        maker.make(at, at + SECOND, [group(GPU, at, TICK, gpu_graphics_active_ratio=np.full(10, 0.9))]) for at in starts
    ]
