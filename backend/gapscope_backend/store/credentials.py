"""Rows of tokens, one-time logins and sessions, by the hash of their secret; what they allow is judged above."""

from __future__ import annotations

from collections.abc import Callable, Collection

from sqlalchemy import select, update

from gapscope_backend.store.database import Database
from gapscope_backend.store.models import LoginSession, LoginToken, Token


async def add_credential(database: Database, row: Token | LoginToken) -> None:
    """Store a new token or login."""
    async with database.write() as session:
        session.add(row)


async def token_of_hash(database: Database, digest: str) -> Token | None:
    """The token with that hash, revoked or not."""
    async with database.read() as session:
        token: Token | None = await session.scalar(select(Token).where(Token.hash == digest))
    return token


async def revoked_of(database: Database, token_ids: Collection[int]) -> set[int]:
    """Those of the tokens that are revoked."""
    query = select(Token.id).where(Token.id.in_(token_ids), Token.revoked_ns.is_not(None))
    async with database.read() as session:
        return set(await session.scalars(query))


async def mark_token_used(database: Database, token_id: int, now_ns: int) -> None:
    """Note the last use of a token."""
    async with database.write() as session:
        await session.execute(update(Token).where(Token.id == token_id).values(last_used_ns=now_ns))


async def list_tokens(database: Database) -> list[Token]:
    """All tokens, oldest first."""
    async with database.read() as session:
        return list(await session.scalars(select(Token).order_by(Token.id)))


async def revoke_tokens(database: Database, prefix: str, now_ns: int, check: Callable[[int], None]) -> None:
    """Revoke the tokens that begin with ``prefix``; ``check`` gets their number and may raise, then none is."""
    async with database.write() as session:
        rows = list(await session.scalars(select(Token).where(Token.prefix.startswith(prefix, autoescape=True))))
        check(len(rows))
        for row in rows:
            row.revoked_ns = row.revoked_ns or now_ns


async def exchange_login(
    database: Database, digest: str, now_ns: int, check: Callable[[LoginToken | None], None], opened: LoginSession
) -> None:
    """Use a login up and store the session that it opens; ``check`` may raise, then neither happens."""
    async with database.write() as session:
        row = await session.get(LoginToken, digest)
        check(row)
        if row is not None:
            row.used_ns = now_ns
            session.add(opened)


async def session_of_hash(database: Database, digest: str) -> LoginSession | None:
    """The session with that hash, expired or not."""
    async with database.read() as session:
        return await session.get(LoginSession, digest)


async def delete_session(database: Database, digest: str) -> None:
    """Forget a session."""
    async with database.write() as session:
        row = await session.get(LoginSession, digest)
        if row is not None:
            await session.delete(row)
