"""The one way out: what saves, tests and delivers a webhook comes through here, and nothing else of the server does.

A name is resolved once; every address that it has is checked, and a connection is opened to a checked address only,
with the name in SNI and Host. There are no redirects and no proxies, and of an answer 4 kB are read at most. What is
not public, or not https, must be named in the server's own file: who may change channels must not reach into a network.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from gapscope_agent.version import __version__
from gapscope_backend.alerts.addresses import Address, AllowList, kind_of
from gapscope_backend.errors import BackendError

MAX_URL = 2048
MAX_ANSWER_BYTES = 4096
RESOLVE_SECONDS = 5.0
CONNECT_SECONDS = 5.0
TOTAL_SECONDS = 15.0
"""Of one attempt, from the connection to the end of the answer."""
MOST_ADDRESSES = 32

_SPOILT = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029]")
_ODD_NUMBER = re.compile(r"(?:^|\.)(?:\d+|0x[0-9a-f]*)\.?$")
"""A host that ends in a number is an address to some programs and a name to others."""
_PORTS = {"http": 80, "https": 443}

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Addresses of a name; raises OSError where it has none."""


class EgressError(BackendError):
    """Nothing came of a request; the message names the target by its host alone: paths and queries hold secrets."""


class BlockedError(EgressError):
    """The target is not one that may be reached; nothing was sent."""


@dataclass(frozen=True)
class Target:
    """An address of a webhook that was checked, and where its host is."""

    url: URL
    addresses: tuple[Address, ...]


@dataclass(frozen=True)
class Reply:
    """What a target answered: the first 4 kB of its body, and Retry-After where it sent one."""

    status: int
    body: bytes
    retry_after: str | None


async def resolve_name(host: str, port: int) -> Sequence[str]:
    """Addresses of a name as the system knows them. Raises OSError where it has none."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]


@dataclass(frozen=True)
class Egress:
    """The way out. ``allowed`` names targets that may be private or plain http."""

    allowed: AllowList = field(default_factory=AllowList)
    resolve: Resolve = resolve_name
    total_seconds: float = TOTAL_SECONDS

    async def check(self, address: str) -> Target:
        """Resolve a webhook's address and check all of it. Raises BlockedError with what is wrong."""
        url = _parsed(address)
        host, port = str(url.raw_host), int(url.port or _PORTS[url.scheme])
        found = await self._addresses(host, port)
        for one in found:
            if self.allowed.covers(host, port, one):
                continue
            kind = kind_of(one)
            if kind:
                where = "is" if host == str(one) else f"resolves to {one}, which is"
                raise BlockedError(
                    f"{host} {where} {kind}: only public targets are reached, others must be named in webhook_allow "
                    "of the server's configuration file"
                )
            if url.scheme != "https":
                raise BlockedError(
                    f"{host} over http: only https is sent to; a target in webhook_allow of the server's "
                    "configuration file may be http"
                )
        return Target(url, found)

    async def post(self, address: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Check, connect and send. Raises BlockedError, or EgressError where no answer came."""
        target = await self.check(address)
        timeout = aiohttp.ClientTimeout(total=self.total_seconds, sock_connect=CONNECT_SECONDS)
        try:
            async with (
                _session(target) as session,
                session.post(
                    target.url,
                    data=body,
                    headers={"User-Agent": f"gapscope/{__version__}", "Accept-Encoding": "identity", **headers},
                    allow_redirects=False,
                    timeout=timeout,
                ) as response,
            ):
                read = await _read_some(response.content)
                return Reply(response.status, read, response.headers.get("Retry-After"))
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError, ValueError) as error:
            raise EgressError(f"{target.url.raw_host}: {self._reason(error)}") from None

    async def _addresses(self, host: str, port: int) -> tuple[Address, ...]:
        if _is_address(host):
            return (ipaddress.ip_address(host),)
        try:
            texts = await asyncio.wait_for(self.resolve(host, port), RESOLVE_SECONDS)
            found = tuple(dict.fromkeys(ipaddress.ip_address(text) for text in texts))
        except asyncio.TimeoutError:
            raise EgressError(f"{host} was not resolved within {RESOLVE_SECONDS:.0f} s") from None
        except (OSError, ValueError) as error:  # UnicodeError: a label that is too long
            raise EgressError(f"{host} cannot be resolved: {getattr(error, 'strerror', None) or 'no name'}") from None
        if not found or len(found) > MOST_ADDRESSES:
            raise EgressError(f"{host} has {len(found)} addresses")
        return found

    def _reason(self, error: Exception) -> str:
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return f"no connection within {CONNECT_SECONDS:.0f} s"
        if isinstance(error, asyncio.TimeoutError):
            return f"no answer within {self.total_seconds:.0f} s"
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return f"its certificate cannot be trusted ({_of_certificate(error.certificate_error)})"
        if isinstance(error, aiohttp.ClientSSLError):
            return "it does not speak TLS as it must"
        if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionResetError):
            return "it closed the connection without an answer"
        if isinstance(error, OSError) and error.strerror:
            return error.strerror
        if isinstance(error, aiohttp.ClientPayloadError | aiohttp.ClientResponseError):
            return "its answer is no HTTP"
        return type(error).__name__


def _parsed(address: str) -> URL:
    if len(address) > MAX_URL:
        raise BlockedError(f"the address is longer than {MAX_URL} characters")
    if _SPOILT.search(address):
        raise BlockedError("the address holds blanks, control characters or backslashes")
    try:
        url = URL(address)
        host, port = url.raw_host, url.port
    except (ValueError, TypeError):
        raise BlockedError("this is no address; want https://HOST/PATH") from None
    if url.scheme not in _PORTS or not host:
        raise BlockedError("the address must be https://HOST/PATH")
    if "@" in re.split(r"[/?#]", address.partition("//")[2], maxsplit=1)[0]:
        raise BlockedError("the address holds a user name before its host; give credentials as a header")
    if url.raw_fragment:
        raise BlockedError("the address ends in a #fragment, which is never sent; leave it out")
    if not port or "%" in host:
        raise BlockedError("the address holds a host or a port that is none")
    if _ODD_NUMBER.search(host) and not _is_address(host):
        raise BlockedError(f"{host[:100]} is no name; write an IPv4 address as four decimal numbers")
    return url


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _of_certificate(error: Exception) -> str:
    return str(getattr(error, "verify_message", "") or type(error).__name__)


class _Checked(AbstractResolver):
    """Gives the connector the addresses that were checked, whatever it asks for."""

    def __init__(self, target: Target) -> None:
        self._target = target

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._target.addresses
        ]

    async def close(self) -> None:
        """Nothing is open."""


def _session(target: Target) -> aiohttp.ClientSession:
    def open_socket(told: tuple[Any, Any, int, str, tuple[Any, ...]]) -> socket.socket:
        """The last check, where a connection begins: this address is one of those that were checked."""
        if ipaddress.ip_address(told[4][0]) not in target.addresses:
            raise BlockedError(f"{target.url.raw_host}: an address that was not checked")
        return socket.socket(told[0], told[1], told[2])

    connector = aiohttp.TCPConnector(
        resolver=_Checked(target), use_dns_cache=False, force_close=True, socket_factory=open_socket
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        requote_redirect_url=False,
    )


async def _read_some(content: aiohttp.StreamReader) -> bytes:
    """At most 4 kB; what came when the rest fails to: the status has been told by then."""
    read = b""
    try:
        while len(read) < MAX_ANSWER_BYTES:
            piece = await content.read(MAX_ANSWER_BYTES - len(read))
            if not piece:
                break
            read += piece
    except (aiohttp.ClientError, OSError, asyncio.TimeoutError):
        pass
    return read
