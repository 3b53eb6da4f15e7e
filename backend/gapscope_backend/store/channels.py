"""Rows of channels."""

from __future__ import annotations

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from gapscope_backend.store.alert_models import Channel
from gapscope_backend.store.database import Database


async def list_channels(database: Database) -> list[Channel]:
    """All channels, by id."""
    async with database.read() as session:
        return list(await session.scalars(select(Channel).order_by(Channel.id)))


def takes_alerts(channel: Channel) -> bool:
    """Tell whether alerts go to it: it is switched on, and not for heartbeats alone."""
    return channel.enabled and channel.settings.get("alerts", True) is not False


async def channel_of(database: Database, channel_id: str) -> Channel | None:
    """A channel; None where there is none of that id."""
    async with database.read() as session:
        return await session.get(Channel, channel_id)


async def locked_channel(session: AsyncSession, channel_id: str) -> Channel | None:
    """The same in a transaction that changes it: nobody else does until its end."""
    return await session.get(Channel, channel_id, with_for_update=True)


async def delete_channel(database: Database, channel_id: str) -> bool:
    """Forget a channel; what waits for it fails when it is due. False where there is none."""
    async with database.write() as session:
        gone = await session.execute(delete(Channel).where(Channel.id == channel_id).returning(Channel.id))
        return gone.first() is not None
