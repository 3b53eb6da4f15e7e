"""Checks of an incident file that somebody sent, before anything in it is used.

It is opened read-only, and nothing of it is executed: no view, trigger, generated column or check but those of our own
schema, which is compared statement by statement with what this program's migrations make. Only then SQLite looks for
damage in it, and only after that it is read.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from gapscope_backend.errors import StoreError
from gapscope_backend.store.database import connect, migration_config, sqlite_url
from gapscope_backend.store.incident_file import APPLICATION_ID, MAX_FILE_BYTES
from gapscope_backend.store.schema import upgrade

MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
MAX_SCHEMA_ROWS = 200

Schema = Mapping[tuple[str, str], str]
"""Type and name to the statement that makes it."""


class IncidentFileError(StoreError):
    """A file that is no incident file, is damaged, or is of another version."""


def check_header(path: Path) -> None:
    """Raise IncidentFileError for what is no incident file, is too large, or is not whole."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(HEADER_BYTES)
    if not head.startswith(MAGIC) and not MAGIC.startswith(head):
        raise IncidentFileError(f"{path.name} is no incident file; `gapscope incident export` makes one")
    if size > MAX_FILE_BYTES:
        raise IncidentFileError(f"{path.name} has {size:,} bytes; at most {MAX_FILE_BYTES:,} are opened")
    if len(head) < HEADER_BYTES:
        raise IncidentFileError(f"{path.name} is cut short: {size} bytes; get it once more")
    if int.from_bytes(head[68:72], "big") != APPLICATION_ID:
        raise IncidentFileError(f"{path.name} is an SQLite database, but no incident file of Gapscope")
    page_bytes = int.from_bytes(head[16:18], "big")
    wanted = (65_536 if page_bytes == 1 else page_bytes) * int.from_bytes(head[28:32], "big")
    if size != wanted:
        raise IncidentFileError(f"{path.name} has {size:,} bytes and should have {wanted:,}; get it once more")


async def check_contents(path: Path, folder: Path) -> None:
    """Raise IncidentFileError unless the schema is ours, nothing is damaged, and it holds one incident of one host.

    ``folder`` is a private one for scratch files.
    """
    schema, version = _read(path, _schema_and_version)
    expected = folder / "schema.db"
    database = connect(sqlite_url(expected))
    try:
        await database.migrate(lambda connection: _make(connection, version, path.name))
    finally:
        await database.close()
    if schema != _read(expected, _schema_and_version)[0]:
        raise IncidentFileError(f"{path.name} holds other tables than Gapscope makes; it is not opened")
    _read(path, _check_rows)


def _read(path: Path, look: Callable[[sqlite3.Connection, str], tuple[Schema, str]]) -> tuple[Schema, str]:
    address = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "query_only=ON", "mmap_size=0"):
                connection.execute(f"PRAGMA {pragma}")
            return look(connection, path.name)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise IncidentFileError(f"{path.name} is damaged ({error}); get it once more") from error


def _schema_and_version(connection: sqlite3.Connection, name: str) -> tuple[Schema, str]:
    rows = connection.execute(f"SELECT type, name, sql FROM sqlite_schema LIMIT {MAX_SCHEMA_ROWS}").fetchall()  # noqa: S608
    schema = {(kind, called): _plain(sql) for kind, called, sql in rows}
    if ("table", "alembic_version") not in schema:
        raise IncidentFileError(f"{name} does not say of which version it is; it is not opened")
    versions = connection.execute("SELECT version_num FROM alembic_version LIMIT 2").fetchall()
    if len(versions) != 1:
        raise IncidentFileError(f"{name} does not say of which version it is; it is not opened")
    return schema, str(versions[0][0])


def _check_rows(connection: sqlite3.Connection, name: str) -> tuple[Schema, str]:
    found = [row[0] for row in connection.execute("PRAGMA quick_check(1)")]
    if found != ["ok"]:
        raise IncidentFileError(f"{name} is damaged ({found[0]}); get it once more")
    counts = connection.execute("SELECT (SELECT count(*) FROM incident), (SELECT count(*) FROM host)").fetchone()
    if counts != (1, 1):
        raise IncidentFileError(f"{name} holds {counts[0]} incidents of {counts[1]} hosts; it must hold one of one")
    return {}, ""


def _make(connection: Connection, version: str, name: str) -> None:
    script = ScriptDirectory.from_config(migration_config(connection))
    if version not in {known.revision for known in script.walk_revisions()}:
        raise IncidentFileError(f"{name} was written by a newer Gapscope (schema {version[:40]}); upgrade this one")
    upgrade(connection, version)


def _plain(sql: object) -> str:
    """A statement without what differs between ways of writing it."""
    return re.sub(r'[\s"]+', " ", str(sql)).strip()
