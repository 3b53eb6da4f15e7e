"""Real listeners: they count connections, keep what came, and answer as told."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

Answer = Callable[["Request"], bytes]


@dataclass
class Request:
    """A request as it came: headers by their small names."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


def answer(status: int = 200, body: bytes = b"", **headers: str) -> bytes:
    """An answer's bytes; the connection ends with it."""
    told = {"Content-Length": str(len(body)), "Connection": "close"}
    told |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    return f"HTTP/1.1 {status} Told\r\n{lines}\r\n".encode() + body


@dataclass
class Listener:
    """``replies`` are given in turn, the last one for ever. ``raw`` is what came first on each connection."""

    port: int = 0
    connections: int = 0
    requests: list[Request] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    replies: list[bytes] = field(default_factory=lambda: [answer()])
    hold: asyncio.Event | None = None
    """While it is set to an event, answers wait for it."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def ids(self) -> list[str]:
        return [request.headers["webhook-id"] for request in self.requests]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            request = await self._read(reader)
            if request is not None:
                self.requests.append(request)
                if self.hold is not None:
                    await self.hold.wait()
                writer.write(self.replies.pop(0) if len(self.replies) > 1 else self.replies[0])
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _read(self, reader: asyncio.StreamReader) -> Request | None:
        first = await reader.read(65536)
        self.raw.append(first)
        while b"\r\n\r\n" not in first:
            more = await reader.read(65536) if first[:1].isalpha() else b""
            if not more:
                return None
            first += more
        head, _, body = first.partition(b"\r\n\r\n")
        start, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", "0"))
        while len(body) < length:
            body += await reader.readexactly(length - len(body))
        return Request(start.split()[0], start.split()[1], headers, body)


@asynccontextmanager
async def listening(hosts: Sequence[str] = ("127.0.0.1",)) -> AsyncIterator[Listener]:
    """A listener on one port of each of the addresses."""
    listener = Listener()
    server = await asyncio.start_server(listener.serve, hosts[0], 0)
    listener.port = server.sockets[0].getsockname()[1]
    more = [await asyncio.start_server(listener.serve, host, listener.port) for host in hosts[1:]]
    try:
        yield listener
    finally:
        for one in (server, *more):
            one.close()


_watching: list[list[Any]] = []


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and _watching:
        _watching[-1].append(arguments[1])


sys.addaudithook(_hear)


@contextmanager
def connections_tried() -> Iterator[list[Any]]:
    """Every address to which this process tries to connect meanwhile, as the interpreter itself tells."""
    tried: list[Any] = []
    _watching.append(tried)
    try:
        yield tried
    finally:
        _watching.remove(tried)
