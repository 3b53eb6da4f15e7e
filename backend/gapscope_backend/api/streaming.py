"""Answers that are sent while they are made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from aiohttp import web

from gapscope_backend.errors import BusyError

STREAMS_AT_ONCE = 8
"""Each may hold what a host has in some minutes."""
WRITE_SECONDS = 60.0
"""A client that takes nothing for so long is gone."""

STREAMS = web.AppKey("STREAMS", asyncio.Semaphore)


async def stream_answer(
    request: web.Request, response: web.StreamResponse, pieces: AsyncGenerator[bytes, None]
) -> web.StreamResponse:
    """Send pieces as they come. An error before the first one is an answer like any other; after it the connection
    ends before its proper end, so that nobody takes a part for the whole."""
    streams = request.app[STREAMS]
    if streams.locked():
        raise BusyError(f"{STREAMS_AT_ONCE} files are being sent already; ask again later")
    async with streams, aclosing(pieces):
        first = await pieces.__anext__()
        if request.method == "HEAD":
            return web.Response(headers=response.headers)
        await response.prepare(request)
        whole = False
        try:
            await _write(response, first)
            async for piece in pieces:
                await _write(response, piece)
            await response.write_eof()
            whole = True
        finally:
            if not whole and request.transport is not None:
                request.transport.abort()
    return response


async def _write(response: web.StreamResponse, piece: bytes) -> None:
    try:
        await asyncio.wait_for(response.write(piece), WRITE_SECONDS)
    except asyncio.TimeoutError as error:
        raise ConnectionResetError(f"the client took nothing for {WRITE_SECONDS:.0f} s") from error
