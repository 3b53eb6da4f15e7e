"""Copying an SQLite database while it is in use."""

from __future__ import annotations

import os
from pathlib import Path

from gapscope_backend.errors import StoreError
from gapscope_backend.store.database import Database
from gapscope_backend.store.engine import SQLITE


async def back_up(database: Database, path: Path) -> None:
    """Write one moment of the database into a new file, readable by its owner only; writers go on meanwhile.

    Raises StoreError for PostgreSQL, which has its own tools, and where the file exists.
    """
    if database.dialect != SQLITE:
        raise StoreError("back PostgreSQL up with pg_dump or pg_basebackup; docs/database.md says how")
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError as error:
        raise StoreError(f"{path} exists; a backup goes into a new file") from error
    async with database.engine.connect() as plain:
        # VACUUM runs outside transactions. It takes an empty file for a new one.
        driver = (await plain.get_raw_connection()).driver_connection
        if driver is not None:
            await (await driver.execute("VACUUM INTO ?", (str(path),))).close()
