"""The live socket: silent until asked, frames while asked, silent again, connected again when lost."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
from aiohttp import web

from gapscope_agent import wire
from gapscope_agent.config import AgentConfig
from gapscope_agent.live import LiveSender

Backend = Any
FRAME = wire.LiveFrame(host="one", t=5, values={"host": {"cpu_busy_cores": None}})


class Source:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> wire.LiveFrame | None:
        self.calls += 1
        return FRAME if self.calls > 1 else None


@contextlib.asynccontextmanager
async def running(config: AgentConfig, source: Callable[[], wire.LiveFrame | None]) -> AsyncIterator[LiveSender]:
    stop = asyncio.Event()
    sender = LiveSender(config, source, threading.Event())
    task = asyncio.create_task(sender.run(stop))
    try:
        yield sender
    finally:
        stop.set()
        await asyncio.wait_for(task, 10)


async def until(done: Callable[[], bool]) -> None:
    for _ in range(2000):
        if done():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("did not happen")


async def test_nobody_watches_so_nothing_is_computed(backend: Backend, config: AgentConfig) -> None:
    source = Source()
    async with running(config, source):
        await until(lambda: backend.sockets == 1)
        await asyncio.sleep(0.05)
    assert source.calls == 0
    assert backend.frames == []


async def test_frames_flow_while_watched_and_end_with_the_request(backend: Backend, config: AgentConfig) -> None:
    backend.watch_seconds = 0.25
    source = Source()
    async with running(config, source) as sender:
        await until(lambda: len(backend.frames) >= 1)
        await until(lambda: not sender._asked.is_set())
        calls = source.calls
        await asyncio.sleep(0.15)
        assert source.calls == calls
    assert 1 <= calls <= 4
    assert backend.frames[0] == FRAME
    assert backend.sockets == 1


async def test_a_lost_socket_is_made_again(backend: Backend, config: AgentConfig) -> None:
    backend.watch_seconds = 5
    lost = asyncio.Event()

    def source() -> wire.LiveFrame | None:
        if not lost.is_set():
            lost.set()
            raise ConnectionResetError("gone")
        return FRAME

    async with running(config, source):
        await until(lambda: bool(backend.frames))
    assert backend.sockets == 2


async def test_a_server_without_the_live_path_is_asked_again_and_harms_nothing(config: AgentConfig) -> None:
    refused = 0

    async def refuse(request: web.Request) -> web.Response:
        nonlocal refused
        refused += 1
        return web.Response(status=403)

    app = web.Application()
    app.router.add_get("/api/v1/agent/live", refuse)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        async with running(
            AgentConfig(server=f"http://127.0.0.1:{port}", host="one", retry_initial_seconds=0.01), Source()
        ):
            await until(lambda: refused >= 2)
    finally:
        await runner.cleanup()


async def test_requests_are_told_apart_and_nonsense_is_passed_over(config: AgentConfig) -> None:
    class Socket:
        def __init__(self) -> None:
            requests = wire.StackRequest(seconds=7), wire.LiveRequest(seconds=3)
            self.messages = [b"\xc1", *map(wire.encode, requests)]

        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> Any:
            if not self.messages:
                raise StopAsyncIteration
            return aiohttp.WSMessage(aiohttp.WSMsgType.BINARY, self.messages.pop(0), None)

    asked: list[float] = []
    sender = LiveSender(config, Source(), threading.Event(), monotonic=lambda: 100.0, stacks_asked=asked.append)
    await sender._listen(Socket())  # type: ignore[arg-type]
    assert sender._watched_until == 103.0
    assert asked == [7]
