"""Any bytes to any endpoint: a 4xx that says why, never a failure of the server."""

from __future__ import annotations

import asyncio
import random

import pytest

from gapscope_backend.api.routes import ROUTES
from tests.backend.running import Backend

PIECES = (
    b"%ff",
    b"%00",
    b"\xff\xfe",
    b"[",
    b"..",
    b"%2e%2e%2f",
    b"now-5m",
    b"-1",
    b"1e999",
    b"99999999999999999999",
    b"NaN",
    b"gpu:*",
    b"*",
    b"%F0%9F%94%A5",
    b"'; DROP TABLE host; --",
    b"{}",
    b"9" * 300,
)
PARAMETERS = (b"from", b"to", b"buckets", b"entity", b"metric", b"limit", b"host", b"%ff")


async def send(backend: Backend, head: bytes, body: bytes = b"") -> tuple[int, bytes]:
    """Status and answer of one raw request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", backend.client.port)
    writer.write(head + b"Connection: close\r\n\r\n" + body)
    answer = await asyncio.wait_for(reader.read(), 20)
    writer.close()
    await writer.wait_closed()
    return int(answer.split(b" ", 2)[1]), answer


@pytest.mark.parametrize("seed", range(8))
async def test_no_request_makes_the_server_fail(backend: Backend, seed: int) -> None:
    chance = random.Random(seed)
    tokens = [backend.read_token.encode(), backend.ingest_token.encode(), b"\xff", chance.randbytes(20).hex().encode()]
    for _ in range(60):
        route = chance.choice(ROUTES)
        path = route.path.encode().replace(b"{host}", chance.choice(PIECES)).replace(b" ", b"%20")
        query = b"&".join(chance.choice(PARAMETERS) + b"=" + chance.choice(PIECES) for _ in range(chance.randrange(4)))
        method = chance.choice([b"GET", b"POST", b"HEAD", b"PUT", route.method.encode()])
        body = chance.choice([b"", chance.randbytes(200), b"[" * 500, b"\x91" * 500, b'{"token": "\xff"}'])
        headers = [
            b"Host: " + chance.choice([b"localhost"] * 12 + [b"[", b"\xff", b"evil.example"]),
            b"Authorization: Bearer " + chance.choice(tokens),
            b"Content-Length: " + str(len(body)).encode(),
            b"Content-Type: " + chance.choice([b"application/vnd.gapscope.batch+msgpack", b"\xff/\xff", b"x"]),
            b"Origin: " + chance.choice([b"http://[", b"null", b"\xff"]),
            b"Cookie: " + chance.choice([b"a=\xff", b";;=", b"gapscope_session_=1"]),
        ]
        chosen = headers[:1] + [header for header in headers[1:] if chance.random() < 0.8 or b"Length" in header]
        target = path + b"?" + query.replace(b" ", b"+")
        head = method + b" " + target + b" HTTP/1.1\r\n" + b"".join(header + b"\r\n" for header in chosen)
        status, answer = await send(backend, head, body)
        assert status < 500, (head, answer)


async def test_a_client_that_hangs_up_harms_nobody(backend: Backend) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", backend.client.port)
    head = (
        "POST /api/v1/ingest HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
        f"Authorization: Bearer {backend.ingest_token}\r\nContent-Type: application/vnd.gapscope.batch+msgpack\r\n\r\n"
    )
    writer.write(head.encode() + b"half")
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert (await backend.client.get("/api/v1/health")).status == 200
