"""Batches of agents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from aiohttp import web

from gapscope_agent.wire import MAX_BATCH_BYTES, MEDIA_TYPE
from gapscope_backend.api.answers import json_answer
from gapscope_backend.api.context import CONTEXT
from gapscope_backend.api.security import caller_of
from gapscope_backend.errors import BusyError, ForbiddenError, TooLargeError, UnsupportedMediaError

MAX_HELD_BYTES = 16 * MAX_BATCH_BYTES
"""Of bodies on their way in, from their first byte to the commit: sixteen of the largest, thousands as they are."""
BODY_SECONDS = 30.0


class Held:
    """How many bytes of bodies are held; a body counts with the length that it announces, else the longest."""

    def __init__(self) -> None:
        self.bytes = 0

    @contextmanager
    def body(self, announced: int | None) -> Iterator[None]:
        """Count a body while it is here. Raises BusyError where there is no room for it."""
        size = MAX_BATCH_BYTES if announced is None else announced
        if self.bytes + size > MAX_HELD_BYTES:
            raise BusyError(f"{self.bytes} bytes of batches are on their way in already; send this one again", "")
        self.bytes += size
        try:
            yield
        finally:
            self.bytes -= size


HELD = web.AppKey("HELD", Held)


async def post_ingest(request: web.Request) -> web.Response:
    """Store one batch; the answer comes after the commit."""
    context = request.app[CONTEXT]
    token = caller_of(request).token
    if token is None:
        raise ForbiddenError("only an ingest token writes", "Authorization")
    encoding = _check_headers(request)
    with request.app[HELD].body(request.content_length):
        body = await _read_body(request)
        return json_answer(await context.ingest.take(body, encoding, token.host_pattern, context.clock(), token.id))


def _check_headers(request: web.Request) -> str:
    if request.content_type != MEDIA_TYPE:
        raise UnsupportedMediaError(f"a batch comes as {MEDIA_TYPE}, not {request.content_type}", "Content-Type")
    encoding = request.headers.get("Content-Encoding", "identity").lower()
    if encoding not in ("identity", "gzip"):
        raise UnsupportedMediaError(f"only gzip is understood, not {encoding[:40]!r}", "Content-Encoding")
    if (request.content_length or 0) > MAX_BATCH_BYTES:
        raise TooLargeError(f"{request.content_length} bytes; at most {MAX_BATCH_BYTES} are taken", "Content-Length")
    return encoding


async def _read_body(request: web.Request) -> bytes:
    """The raw body, at most MAX_BATCH_BYTES of it and within BODY_SECONDS."""
    try:
        return await asyncio.wait_for(_collect(request), BODY_SECONDS)
    except asyncio.TimeoutError as error:
        raise web.HTTPRequestTimeout(reason=f"the body did not come within {BODY_SECONDS:.0f} s") from error


async def _collect(request: web.Request) -> bytes:
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > MAX_BATCH_BYTES:
            raise TooLargeError(f"the body has more than the {MAX_BATCH_BYTES} bytes that are taken", "body")
    return bytes(body)
