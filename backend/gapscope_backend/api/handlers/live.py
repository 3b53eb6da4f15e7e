"""The two ends of the live relay: agents send frames, pages watch them."""

from __future__ import annotations

import asyncio
from fnmatch import fnmatchcase
from typing import Annotated

import msgspec
from aiohttp import WSCloseCode, WSMessage, WSMsgType, web
from msgspec import Meta

from gapscope_agent.wire import LiveRequest, StackRequest, WireError, decode_live_frame, encode
from gapscope_backend.api.context import CONTEXT
from gapscope_backend.api.queries import LiveQuery, read_query
from gapscope_backend.api.security import caller_of
from gapscope_backend.errors import ForbiddenError
from gapscope_backend.services.hosts import find_host
from gapscope_backend.services.live import Watcher

HEARTBEAT_SECONDS = 15.0
MAX_FRAME_BYTES = 1024 * 1024
MAX_PAGE_MESSAGE_BYTES = 4096


class StackMessage(msgspec.Struct, tag_field="type", tag="stacks"):
    """From the page: take Python stacks for the next ``seconds``."""

    seconds: Annotated[float, Meta(ge=1, le=60)]


_STACKS = msgspec.json.Decoder(StackMessage)
SOCKETS = web.AppKey("SOCKETS", set[web.WebSocketResponse])


async def agent_live(request: web.Request) -> web.StreamResponse:
    """An agent's connection: requests go down, frames come up."""
    host = read_query(request, LiveQuery).host
    token = caller_of(request).token
    if token is None or not fnmatchcase(host, token.host_pattern):
        raise ForbiddenError(f"this token does not send frames for {host!r}", "host")
    socket = web.WebSocketResponse(heartbeat=HEARTBEAT_SECONDS, max_msg_size=MAX_FRAME_BYTES, compress=False)
    await _prepare(socket, request)
    hub = request.app[CONTEXT].live

    async def send(message: LiveRequest | StackRequest) -> None:
        await socket.send_bytes(encode(message))

    link = await hub.connect_agent(host, send)
    try:
        async for message in socket:
            if message.type is not WSMsgType.BINARY:
                continue
            frame = decode_live_frame(message.data)
            if frame.host != host:
                raise WireError(f"frame of host {frame.host!r} on the connection of {host!r}")
            hub.relay(host, link, frame)
    except WireError as error:
        reason = str(error).encode()[:120]  # a close frame holds 123 bytes of reason
        await socket.close(code=WSCloseCode.POLICY_VIOLATION, message=reason)
    finally:
        hub.disconnect_agent(host, link)
        request.app[SOCKETS].discard(socket)
    return socket


async def page_live(request: web.Request) -> web.StreamResponse:
    """A page's connection: states and frames go down; who is logged in may ask for stacks, and is answered; all else is
    forgotten.
    """
    context = request.app[CONTEXT]
    host = (await find_host(context.database, read_query(request, LiveQuery).host)).name
    socket = web.WebSocketResponse(heartbeat=HEARTBEAT_SECONDS, max_msg_size=MAX_PAGE_MESSAGE_BYTES)
    await _prepare(socket, request)
    watcher = await context.live.watch(host)
    sender = asyncio.create_task(_send_all(socket, watcher), name=f"live view of {host}")
    try:
        async for message in socket:
            asked = _asked_stacks(message)
            if asked is None:
                continue
            if caller_of(request).token is not None:
                watcher.put_asked("not_logged_in")
            else:
                watcher.put_asked("" if await context.live.ask_stacks(host, asked.seconds) else "no_agent")
    finally:
        context.live.unwatch(host, watcher)
        sender.cancel()
        await asyncio.gather(sender, return_exceptions=True)
        request.app[SOCKETS].discard(socket)
    return socket


def _asked_stacks(message: WSMessage) -> StackMessage | None:
    """The page's wish for stacks; None for any other message."""
    if message.type is not WSMsgType.TEXT:
        return None
    try:
        return _STACKS.decode(message.data)
    except (msgspec.DecodeError, RecursionError):
        return None


async def close_sockets(app: web.Application) -> None:
    """Say good-bye on shutdown, so that agents and pages connect again at once."""
    sockets = app[SOCKETS]
    for socket in tuple(sockets):
        await socket.close(code=WSCloseCode.GOING_AWAY, message=b"the server stops")


async def _prepare(socket: web.WebSocketResponse, request: web.Request) -> None:
    await socket.prepare(request)
    request.app[SOCKETS].add(socket)


async def _send_all(socket: web.WebSocketResponse, watcher: Watcher) -> None:
    """Send as fast as the page reads; what it is too slow for is dropped by the watcher's queue."""
    while not socket.closed:
        message = await watcher.next()
        try:
            await socket.send_str(message.decode())
        except ConnectionError:
            return
