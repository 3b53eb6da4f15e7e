"""Whether a token will do: its form here, and what the server says to it."""

from __future__ import annotations

import asyncio
import re
import zlib

import aiohttp
import msgspec

from gapscope_agent.config import AgentConfig, ConfigError
from gapscope_agent.shipper import connector

LIVE_PATH = "/api/v1/agent/live"
PREFIX = "gsi_"
CHECKSUM_DIGITS = 8
"""A token ends in the CRC-32 of all before it, in hex."""


class _Refusal(msgspec.Struct):
    """The part of the server's problem that is told on."""

    detail: str


class TokenError(ConfigError):
    """The token cannot be used; the message says why and what to do."""


def check_form(token: str) -> None:
    """Refuse what cannot be an ingest token."""
    if token.startswith("gsr_"):
        raise TokenError("this is a read token (gsr_); make one with `gapscope token create --kind ingest --host NAME`")
    if not token.startswith(PREFIX):
        raise TokenError(f"this is no ingest token: those begin with {PREFIX}")
    body, checksum = token[:-CHECKSUM_DIGITS], token[-CHECKSUM_DIGITS:]
    if not re.fullmatch(r"[0-9a-f]+", checksum) or f"{zlib.crc32(body.encode()):08x}" != checksum:
        raise TokenError("the token is mistyped or cut short: its checksum does not fit")


async def check_token(config: AgentConfig) -> str:
    """A sentence on how the server takes the token for this host, or that it cannot be reached.

    Raises TokenError where the token is missing, malformed or refused. The request opens the live connection without
    upgrading it to a WebSocket: credentials and host are judged first, and nothing is opened or stored.
    """
    token = config.bearer()
    if token is None:
        raise TokenError("no token: give --token-file FILE, or set token_file or GAPSCOPE_AGENT_TOKEN_FILE")
    check_form(token)
    timeout = aiohttp.ClientTimeout(total=config.request_timeout_seconds, sock_connect=10)
    headers = {"Authorization": f"Bearer {token}"}
    url = config.server.rstrip("/") + LIVE_PATH
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, connector=connector(config), headers=headers) as session,
            session.get(url, params={"host": config.host}, allow_redirects=False) as response,
        ):
            return _judge(response.status, await response.content.read(4096))
    except (aiohttp.ClientError, asyncio.TimeoutError, OSError) as error:
        return f"the server cannot be reached, so it is not known whether it takes the token: {error}"


def _judge(status: int, body: bytes) -> str:
    if status in (401, 403):
        raise TokenError(f"the server refuses the token ({status}): {_reason(body)}")
    if status == 400:
        return "the server takes the token for this host"
    return f"the server answers {status} and does not tell whether it takes the token; is it a Gapscope server?"


def _reason(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Refusal).detail
    except msgspec.MsgspecError:
        return "it gave no reason"
