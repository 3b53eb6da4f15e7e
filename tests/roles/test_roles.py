"""``gapscope server`` as processes: roles, who is started again, who ends with whom; several on one PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from gapscope_backend.services import admin
from gapscope_backend.store.database import connect
from gapscope_backend.store.watch import verdict_times
from gapscope_backend.store.work import list_work
from tests.roles.processes import eventually, get, made, post, server, until


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
