"""Long reads of samples leave connections for everything else, and a queue of them has an end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from gapscope_backend.errors import BusyError
from gapscope_backend.store.database import MAX_SAMPLE_WAITERS, SAMPLE_READERS, open_database, sqlite_url


async def test_short_reads_go_on_beside_long_ones(tmp_path: Path) -> None:
    database = await open_database(sqlite_url(tmp_path / "g.db"))
    release = asyncio.Event()

    async def long_read() -> None:
        async with database.read_samples():
            await release.wait()

    readers = [asyncio.create_task(long_read()) for _ in range(SAMPLE_READERS + MAX_SAMPLE_WAITERS)]
    await asyncio.sleep(0)
    async with database.read() as session:
        assert (await session.execute(text("SELECT 1"))).scalar() == 1
    with pytest.raises(BusyError):
        await long_read()
    release.set()
    await asyncio.gather(*readers)
    await database.close()
