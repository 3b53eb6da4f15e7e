"""Tokens, one-time logins and sessions. Secrets are shown once and stored as SHA-256.

A token is ``gsi_`` (writes as the hosts of one pattern) or ``gsr_`` (reads) with 192 random bits in hex and the
CRC-32 of all before it, so that a mistyped one is refused without a look into the database and a leaked one is found
by a search for its form.
"""

from __future__ import annotations

import hashlib
import secrets
import zlib
from dataclasses import dataclass

from gapscope_backend.errors import MalformedError, NotFoundError, UnauthenticatedError
from gapscope_backend.store.credentials import (
    add_credential,
    delete_session,
    exchange_login,
    mark_token_used,
    revoke_tokens,
    session_of_hash,
    token_of_hash,
)
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import LoginSession, LoginToken, Token

PREFIXES = {"ingest": "gsi_", "read": "gsr_"}
SHOWN_CHARACTERS = 12
LOGIN_SECONDS = 3600
SESSION_SECONDS = 7 * 24 * 3600
USER = "owner"

_SECOND_NS = 1_000_000_000
_USED_STEP_NS = 60 * _SECOND_NS  # "last used" is good to a minute: no write for each request
_KNOWN_NS = 10 * _SECOND_NS
_MOST_KNOWN = 10_000


@dataclass(frozen=True)
class Session:
    """A logged-in browser."""

    user: str
    expires_ns: int


async def create_token(database: Database, kind: str, host_pattern: str, name: str, now_ns: int) -> str:
    """A new token, returned this once. ``kind`` is ``ingest`` or ``read``; the pattern takes ``*`` and ``?``."""
    if kind not in PREFIXES:
        raise MalformedError(f"there is no kind of token {kind!r}; there are ingest and read", "kind")
    if not 0 < len(host_pattern) <= 253:
        raise MalformedError("a host name or pattern has 1 to 253 characters", "host")
    body = PREFIXES[kind] + secrets.token_hex(24)
    token = body + _checksum(body)
    row = Token(
        name=name,
        kind=kind,
        host_pattern=host_pattern,
        prefix=token[:SHOWN_CHARACTERS],
        hash=_hash(token),
        created_ns=now_ns,
        last_used_ns=None,
        revoked_ns=None,
    )
    await add_credential(database, row)
    return token


async def verify_token(database: Database, token: str, now_ns: int) -> Token:
    """The valid token of that text; UnauthenticatedError says why it is none."""
    body, checksum = token[:-8], token[-8:]
    if not token.startswith(tuple(PREFIXES.values())) or checksum != _checksum(body):
        raise UnauthenticatedError("this is no token of Gapscope: mistyped or cut short", "Authorization")
    row = await token_of_hash(database, _hash(token))
    if row is None:
        raise UnauthenticatedError("this server does not know the token", "Authorization")
    if row.revoked_ns is not None:
        raise UnauthenticatedError(f"the token {row.prefix} was revoked", "Authorization")
    if row.last_used_ns is None or now_ns - row.last_used_ns > _USED_STEP_NS:
        await mark_token_used(database, row.id, now_ns)
    return row


class KnownTokens:
    """Tokens that were found valid a moment ago; so an agent's batches need not look theirs up one by one.

    A token may have been revoked since: who goes by this checks that again before anything is stored.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, tuple[int, Token]] = {}

    async def verify(self, token: str, now_ns: int) -> Token:
        """The token of that text, as it was some seconds ago at most. UnauthenticatedError says why it is none."""
        key = _hash(token)
        found = self._known.get(key)
        if found is None or not 0 <= now_ns - found[0] < _KNOWN_NS:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = self._known[key] = (now_ns, await verify_token(self._database, token, now_ns))
        return found[1]


async def revoke_token(database: Database, prefix: str, now_ns: int) -> None:
    """Make the one token whose text begins so useless."""

    def check(count: int) -> None:
        if count != 1 or not prefix:
            found = f"{count} tokens begin" if count else "no token begins"
            raise NotFoundError(f"{found} with {prefix!r}; `gapscope token list` shows them", "prefix")

    await revoke_tokens(database, prefix, now_ns, check)


async def create_login(database: Database, now_ns: int) -> str:
    """A one-time login token, good for an hour."""
    token = secrets.token_urlsafe(32)
    expires_ns = now_ns + LOGIN_SECONDS * _SECOND_NS
    row = LoginToken(hash=_hash(token), created_ns=now_ns, expires_ns=expires_ns, used_ns=None)
    await add_credential(database, row)
    return token


async def verify_login(database: Database, token: str, now_ns: int) -> tuple[str, Session]:
    """Use a one-time login up: the secret of a new session, for its cookie, and the session."""
    secret = secrets.token_urlsafe(32)
    expires_ns = now_ns + SESSION_SECONDS * _SECOND_NS
    opened = LoginSession(hash=_hash(secret), user=USER, created_ns=now_ns, expires_ns=expires_ns)

    def check(row: LoginToken | None) -> None:
        _check_login(row, now_ns)

    await exchange_login(database, _hash(token), now_ns, check, opened)
    return secret, Session(USER, expires_ns)


def _check_login(row: LoginToken | None, now_ns: int) -> None:
    advice = "`gapscope login` prints a new address"
    if row is None:
        raise UnauthenticatedError(f"this login is not known here; {advice}", "token")
    if row.used_ns is not None:
        raise UnauthenticatedError(f"this login has been used already, each works once; {advice}", "token")
    if row.expires_ns <= now_ns:
        raise UnauthenticatedError(f"this login has expired, each is good for an hour; {advice}", "token")


async def verify_session(database: Database, secret: str, now_ns: int) -> Session:
    """The session of a cookie; UnauthenticatedError where there is none or it has expired."""
    row = await session_of_hash(database, _hash(secret))
    if row is None or row.expires_ns <= now_ns:
        raise UnauthenticatedError("the session has ended; `gapscope login` prints an address to log in with", "Cookie")
    return Session(row.user, row.expires_ns)


async def end_session(database: Database, secret: str) -> None:
    """Log a session out; one that does not exist is out already."""
    await delete_session(database, _hash(secret))


def _hash(secret: str) -> str:
    return hashlib.sha256(_bytes(secret)).hexdigest()


def _checksum(body: str) -> str:
    return f"{zlib.crc32(_bytes(body)):08x}"


def _bytes(text: str) -> bytes:
    """The bytes of a header's text: aiohttp turns those that are no UTF-8 into surrogates."""
    return text.encode(errors="surrogateescape")
