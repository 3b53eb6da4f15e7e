"""``gapscope server`` as processes: roles, who is started again, who ends with whom; several on one PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import psutil
import pytest

from gapscope_agent.wire import MEDIA_TYPE, Batch, encode
from gapscope_backend.services import admin
from gapscope_backend.store.database import connect
from gapscope_backend.store.watch import verdict_times
from gapscope_backend.store.work import list_work
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
        return next((one for one in children if role in one.cmdline()), None)

    async def end(self) -> int:
        if self.process.returncode is None:
            self.process.terminate()
        return await asyncio.wait_for(self.process.wait(), 30)


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


async def test_both_roles_run_come_back_and_end_together(tmp_path: Path) -> None:
    async with server(tmp_path, "--port", "0") as running:
        await running.address()
        await until(lambda: running.child("worker"))
        api, worker = running.child("api"), running.child("worker")
        assert api is not None
        assert worker is not None
        assert {os.getpgid(one.pid) for one in (api, worker)} == {running.process.pid}
        worker.kill()
        await until(lambda: (again := running.child("worker")) and again.pid != worker.pid, running.said)
        api.kill()
        await running.address(2)
        children = psutil.Process(running.process.pid).children()
        assert len(children) == 2
        assert await running.end() == 0
        assert not any(child.is_running() for child in children)


async def test_children_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    async with server(tmp_path, "--port", "0") as running:
        await running.address()
        await until(lambda: running.child("worker"))
        children = psutil.Process(running.process.pid).children()
        os.kill(running.process.pid, signal.SIGKILL)
        await until(lambda: not any(child.is_running() for child in children))


async def test_what_cannot_run_is_said_once(tmp_path: Path) -> None:
    taken = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    async with server(tmp_path, "--port", str(taken.sockets[0].getsockname()[1])) as running:
        assert await asyncio.wait_for(running.process.wait(), 60) == 2
        assert running.said().count("cannot listen on") == 1
    taken.close()
    await taken.wait_closed()


async def test_an_api_alone_does_no_background_work(tmp_path: Path) -> None:
    url = admin.database_url(tmp_path)
    async with server(tmp_path, "--role", "api", "--port", "0") as running:
        address = await running.address()
        await post(address, await admin.create_token(url, "ingest", "*", ""), made("node-1", 1)[0])
        database = connect(url)
        assert await list_work(database) == []

        async def worked() -> bool:
            return bool([row for row in await list_work(database) if row.kind == "retention" and row.done_ns])

        async with server(tmp_path / "other", "--role", "worker", "--database", url):
            await eventually(worked)
        assert {row.claimed_by for row in await list_work(database)} == {""}
        await database.close()


@pytest.mark.parametrize("engine", ["postgresql"])
async def test_apis_and_workers_share_one_postgresql(
    new_database: Callable[[], str], engine: str, tmp_path: Path
) -> None:
    url = new_database()
    old = ("--retention-hours", "90000")
    async with (
        server(tmp_path / "first", "--role", "api", "--port", "0", database=url) as first,
        server(tmp_path / "second", "--role", "api", "--port", "0", database=url) as second,
        server(tmp_path / "third", "--role", "worker", *old, database=url) as third,
        server(tmp_path / "fourth", "--role", "worker", *old, database=url) as fourth,
    ):
        addresses = [await first.address(), await second.address()]
        write = await admin.create_token(url, "ingest", "*", "")
        read = await admin.create_token(url, "read", "*", "")
        sent = [batch for host in range(4) for batch in made(f"node-{host}", 3)]
        answers = await asyncio.gather(*(post(address, write, batch) for batch in sent for address in addresses))
        assert answers.count(False) == len(sent)
        database = connect(url)

        async def holder() -> str:
            return next((row.claimed_by for row in await list_work(database) if row.kind == "watch"), "")

        async def judged() -> bool:
            return len(await verdict_times(database)) == 4

        await eventually(holder)
        await eventually(judged)
        hosts = await get(addresses[1], "/hosts", read)
        assert [host["seconds_since_last_seen"] < 600 for host in hosts] == [True] * 4
        before = await holder()
        watching = next(one for one in (third, fourth) if before.endswith(one.mark()))
        await watching.end()

        async def moved() -> bool:
            return await holder() not in ("", before)

        await eventually(moved)
        await database.close()
