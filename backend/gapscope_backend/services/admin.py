"""What the command line does to a database, whether or not a server runs on it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from gapscope_backend.errors import UnauthenticatedError
from gapscope_backend.services import access
from gapscope_backend.store import credentials
from gapscope_backend.store.database import Database, open_database, sqlite_url


@dataclass(frozen=True)
class TokenInfo:
    """A token without its secret."""

    prefix: str
    kind: str
    host_pattern: str
    name: str
    created_ns: int
    last_used_ns: int | None
    revoked: bool


def database_url(data_dir: Path) -> str:
    """The default database of a data folder."""
    return sqlite_url(data_dir / "gapscope.db")


@asynccontextmanager
async def open_admin(url: str) -> AsyncIterator[Database]:
    """The database at an address, made where there is none."""
    database = await open_database(url)
    try:
        yield database
    finally:
        await database.close()


async def create_token(url: str, kind: str, host_pattern: str, name: str) -> str:
    """A new token, shown this once."""
    async with open_admin(url) as database:
        return await access.create_token(database, kind, host_pattern, name, time.time_ns())


async def list_tokens(url: str) -> list[TokenInfo]:
    """All tokens, oldest first."""
    async with open_admin(url) as database:
        rows = await credentials.list_tokens(database)
    return [
        TokenInfo(
            row.prefix,
            row.kind,
            row.host_pattern,
            row.name,
            row.created_ns,
            row.last_used_ns,
            row.revoked_ns is not None,
        )
        for row in rows
    ]


async def revoke_token(url: str, prefix: str) -> None:
    """Make the one token that begins so useless."""
    async with open_admin(url) as database:
        await access.revoke_token(database, prefix, time.time_ns())


async def token_is_valid(url: str, token: str) -> bool:
    """Tell whether a server on this database would take the token."""
    async with open_admin(url) as database:
        try:
            await access.verify_token(database, token, time.time_ns())
        except UnauthenticatedError:
            return False
        return True


async def create_login(url: str) -> str:
    """A one-time login token, good for an hour."""
    async with open_admin(url) as database:
        return await access.create_login(database, time.time_ns())
