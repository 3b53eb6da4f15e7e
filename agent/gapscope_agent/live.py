"""The live view's side of the agent: one outgoing WebSocket, frames at 10 Hz only while the server asks for them.

Frames are never stored, retried or counted: the durable path is the shipper's.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec

from gapscope_agent.config import AgentConfig, ConfigError
from gapscope_agent.shipper import connector
from gapscope_agent.wire import LiveFrame, LiveRequest, StackRequest, encode

LIVE_PATH = "/api/v1/agent/live"
FRAME_SECONDS = 0.1
MAX_MESSAGE_BYTES = 64 * 1024
SETTLED_SECONDS = 30.0

log = logging.getLogger(__name__)
_REQUEST = msgspec.msgpack.Decoder(LiveRequest | StackRequest)


class LiveSender:
    """Keeps the socket. ``frame`` gives the newest values; it is called only while ``watched``, set here, is set.

    ``stacks_asked`` is told for how many seconds somebody wants stacks.
    """

    def __init__(
        self,
        config: AgentConfig,
        frame: Callable[[], LiveFrame | None],
        watched: threading.Event,
        monotonic: Callable[[], float] = time.monotonic,
        stacks_asked: Callable[[float], None] | None = None,
    ) -> None:
        self._config = config
        self._frame = frame
        self._watched = watched
        self._monotonic = monotonic
        self._stacks_asked = stacks_asked
        self._watched_until = 0.0
        self._asked = asyncio.Event()
        self._failures = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Connect, serve and connect again until ``stop``."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10)
        async with aiohttp.ClientSession(timeout=timeout, connector=connector(self._config)) as session:
            while not stop.is_set():
                began = self._monotonic()
                try:
                    await self._serve(session, stop)
                except (aiohttp.ClientError, ConfigError, OSError, asyncio.TimeoutError) as error:
                    log.debug("live view: %s", error)
                self._failures = 0 if self._monotonic() - began > SETTLED_SECONDS else self._failures + 1
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(stop.wait(), self._pause())

    async def _serve(self, session: aiohttp.ClientSession, stop: asyncio.Event) -> None:
        """One connection, until either side ends it."""
        url = f"{self._config.server.rstrip('/')}{LIVE_PATH}?host={quote(self._config.host)}"
        token = self._config.bearer()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with session.ws_connect(url, headers=headers, heartbeat=20, max_msg_size=MAX_MESSAGE_BYTES) as socket:
            self._watched_until = 0.0
            tasks: list[asyncio.Task[Any]] = [
                asyncio.create_task(self._listen(socket)),
                asyncio.create_task(self._send(socket)),
                asyncio.create_task(stop.wait()),
            ]
            done: set[asyncio.Task[Any]] = set()
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                self._watched.clear()
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            for task in done:
                task.result()

    async def _listen(self, socket: aiohttp.ClientWebSocketResponse[bool]) -> None:
        async for message in socket:
            if message.type is not aiohttp.WSMsgType.BINARY:
                continue
            try:
                request = _REQUEST.decode(message.data)
            except msgspec.DecodeError as error:
                log.debug("live view: a request that is none: %s", error)
                continue
            if isinstance(request, StackRequest):
                if self._stacks_asked is not None:
                    self._stacks_asked(request.seconds)
                continue
            self._watched_until = self._monotonic() + request.seconds
            self._asked.set()

    async def _send(self, socket: aiohttp.ClientWebSocketResponse[bool]) -> None:
        due = 0.0
        while True:
            now = self._monotonic()
            if now >= self._watched_until:
                self._watched.clear()
                self._asked.clear()
                await self._asked.wait()
                self._watched.set()
                due = self._monotonic()
            frame = self._frame()
            if frame is not None:
                await socket.send_bytes(encode(frame))
            due = max(due + FRAME_SECONDS, self._monotonic())
            await asyncio.sleep(due - self._monotonic())

    def _pause(self) -> float:
        config = self._config
        pause = min(config.retry_max_seconds, config.retry_initial_seconds * 2.0 ** min(self._failures, 20))
        return pause * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, guards nothing
