"""Rows of shares: links by the hash of their secret, and the bytes that they show, in pieces."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import delete, exists, select
from sqlalchemy.ext.asyncio import AsyncSession

from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Host, Share, SharePiece

PIECE_BYTES = 1 << 20
KEPT_AFTER_NS = 365 * 24 * 3600 * 1_000_000_000
"""So long after its time a link still says that it has expired, and not that there is none."""


@dataclass(frozen=True)
class ShareFilter:
    """Which shares: of an incident, of a host (by id); None for any."""

    incident: str | None = None
    host_id: int | None = None
    limit: int = 200


async def add_share(database: Database, share: Share, file: Path) -> None:
    """Store a share with the bytes of its file, all or nothing."""
    async with database.write() as session:
        session.add(share)
        await session.flush()
        with file.open("rb") as source:
            position = 0
            while data := source.read(PIECE_BYTES):
                session.add(SharePiece(host_id=share.host_id, share_id=share.id, position=position, data=data))
                await session.flush()
                session.expunge_all()  # what is written need not be held
                position += 1


async def share_of_hash(database: Database, digest: str) -> tuple[Share, str] | None:
    """The share whose link has that hash, expired or not, with its host's name."""
    query = select(Share, Host.name).join(Host, Host.id == Share.host_id).where(Share.hash == digest)
    async with database.read() as session:
        row = (await session.execute(query)).first()
    return None if row is None else (row[0], row[1])


async def list_shares(database: Database, wanted: ShareFilter) -> list[tuple[Share, str]]:
    """Shares with their host's name, newest first."""
    query = select(Share, Host.name).join(Host, Host.id == Share.host_id)
    if wanted.incident is not None:
        query = query.where(Share.incident == wanted.incident)
    if wanted.host_id is not None:
        query = query.where(Share.host_id == wanted.host_id)
    query = query.order_by(Share.made_ns.desc(), Share.id).limit(wanted.limit)
    async with database.read() as session:
        return [(share, name) for share, name in await session.execute(query)]


async def share_pieces(database: Database, share: Share) -> AsyncIterator[bytes]:
    """The bytes of a share in their order; none where they were deleted."""
    query = select(SharePiece.data).where(SharePiece.host_id == share.host_id, SharePiece.share_id == share.id)
    async with database.read() as session:
        async for data in await session.stream_scalars(
            query.order_by(SharePiece.position).execution_options(yield_per=1)
        ):
            yield data


async def revoke_share(database: Database, share_id: str, now_ns: int) -> bool:
    """End a share now and delete its bytes; one that was revoked before stays as it is. False where there is none."""
    async with database.write() as session:
        share = await session.scalar(select(Share).where(Share.id == share_id))
        if share is None:
            return False
        share.revoked_ns = share.revoked_ns or now_ns
        await session.execute(
            delete(SharePiece).where(SharePiece.host_id == share.host_id, SharePiece.share_id == share.id)
        )
    return True


async def delete_over_shares(session: AsyncSession, now_ns: int) -> None:
    """Delete the bytes of shares whose time is over, and the shares themselves once nobody asks for them any more."""
    mine = (Share.host_id == SharePiece.host_id, Share.id == SharePiece.share_id)
    options = {"synchronize_session": False}
    over = delete(SharePiece).where(exists().where(*mine, Share.expires_ns <= now_ns))
    await session.execute(over, execution_options=options)
    await session.execute(delete(Share).where(Share.expires_ns < now_ns - KEPT_AFTER_NS), execution_options=options)
