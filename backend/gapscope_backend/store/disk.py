"""How much room a database has, and when nothing more may be stored in it.

A full disk would stop retention too, which needs room to write before it can free any. So below ``STOP_BELOW`` of the
disk nothing new is taken, until ``GO_ABOVE`` of it is free again. Pages inside an SQLite file that hold nothing count
as free: the file does not shrink when rows go, it is filled anew.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sqlalchemy import text

from gapscope_backend.errors import StorageFullError
from gapscope_backend.store.database import Database
from gapscope_backend.store.engine import SQLITE

STOP_BELOW = 0.05
GO_ABOVE = 0.07
LOOK_SECONDS = 1.0

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Space:
    """Bytes that can still be stored, and the size of the disk."""

    free_bytes: int
    total_bytes: int

    @property
    def free_ratio(self) -> float:
        """Share of the disk that is free."""
        return self.free_bytes / self.total_bytes if self.total_bytes else 1.0


FindSpace = Callable[[], Awaitable[Space | None]]


async def space_of(database: Database) -> Space | None:
    """The room of an SQLite file; None for PostgreSQL, whose disk this program does not see."""
    path = database.engine.url.database
    if database.dialect != SQLITE or not path:
        return None
    disk = await asyncio.to_thread(os.statvfs, path)
    async with database.read() as session:
        query = text("SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size")
        unused = await session.scalar(query)
    return Space(disk.f_bavail * disk.f_frsize + int(unused or 0), disk.f_blocks * disk.f_frsize)


class DiskGuard:
    """Says whether batches may be stored. Looks at the disk at most every ``LOOK_SECONDS``."""

    def __init__(self, find: FindSpace, monotonic: Callable[[], float]) -> None:
        self._find = find
        self._monotonic = monotonic
        self._look_at = float("-inf")
        self.read_only = False

    async def check(self) -> None:
        """Raise StorageFullError while the disk is too full."""
        now = self._monotonic()
        if now >= self._look_at:
            self._look_at = now + LOOK_SECONDS
            await self._look()
        if self.read_only:
            raise StorageFullError(
                f"less than {STOP_BELOW:.0%} of the server's disk is free: nothing is stored until {GO_ABOVE:.0%} are; "
                "`gapscope db capacity` says what takes the room and what a shorter retention would free"
            )

    async def space(self) -> Space | None:
        """The room there is now; None where it is not known."""
        return await self._find()

    async def _look(self) -> None:
        space = await self._find()
        if space is None:
            return
        was, ratio = self.read_only, space.free_ratio
        self.read_only = ratio <= GO_ABOVE if was else ratio < STOP_BELOW
        if self.read_only != was:
            told = "nothing is stored any more" if self.read_only else "batches are stored again"
            log.warning("%.1f %% of the disk is free: %s", 100 * ratio, told)
