"""Opening the database: engine, transactions and the schema at its newest version.

Contract: ``read()`` gives a snapshot, ``write()`` one transaction that is committed when the block ends without an
error and rolled back otherwise. SQLite has one writer; ``write()`` queues for it within the process and takes the
file's write lock at once (BEGIN IMMEDIATE), so that no transaction fails half-way because it began as a reader.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine

from gapscope_backend.errors import BusyError, StoreError

_WRITE_OPTION = "gapscope_write"

log = logging.getLogger(__name__)

# An acknowledgement means committed and the agent then forgets the batch, so a commit must survive a power cut:
# synchronous=FULL (WAL with NORMAL may lose the last commits then). One batch a host every 5 s makes that cheap.
_SQLITE_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA busy_timeout=10000",
    "PRAGMA foreign_keys=ON",
)


SAMPLE_READERS = 4
"""Of the pool's fifteen connections; more would only share the same cores."""
MAX_SAMPLE_WAITERS = 64


class Database:
    """An open database. Close it with ``close``."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self._reader = async_sessionmaker(engine, expire_on_commit=False)
        self._writer_engine = engine.execution_options(**{_WRITE_OPTION: True})
        self._writer = async_sessionmaker(self._writer_engine, expire_on_commit=False)
        self._write_lock = asyncio.Lock()
        self._sample_slots = asyncio.Semaphore(SAMPLE_READERS)
        self._sample_waiters = 0

    @property
    def dialect(self) -> str:
        """``sqlite`` or ``postgresql``."""
        return self.engine.dialect.name

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        """Give a session over one snapshot; nothing done in it is kept."""
        with _failures_named():
            async with self._reader() as session:
                yield session

    @asynccontextmanager
    async def read_samples(self) -> AsyncIterator[AsyncSession]:
        """Like ``read``, for what holds its connection long: only so many at once, so that all else finds one.

        Raises BusyError when too many wait already.
        """
        if self._sample_waiters >= MAX_SAMPLE_WAITERS:
            raise BusyError("too many requests read stored samples at once; ask again in some seconds")
        self._sample_waiters += 1
        try:
            await self._sample_slots.acquire()
        finally:
            self._sample_waiters -= 1
        try:
            async with self.read() as session:
                yield session
        finally:
            self._sample_slots.release()

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncSession]:
        """Give a session in one write transaction: committed at the end of the block, or nothing of it."""
        with _failures_named():
            async with self._write_lock, self._writer() as session, session.begin():
                yield session

    async def upgrade(self) -> None:
        """Bring the schema to its newest version."""
        async with self._write_lock, self._writer_engine.begin() as connection:
            await connection.run_sync(_upgrade)

    async def close(self) -> None:
        """Close every connection."""
        await self.engine.dispose()


@contextmanager
def _failures_named() -> Iterator[None]:
    """A full disk or a lock held too long passes: the request fails with what a client may retry on."""
    try:
        yield
    except (OperationalError, PoolTimeoutError) as error:
        log.exception("the database failed")
        raise BusyError("the database cannot be used now; nothing was stored, the server's log says why") from error


def sqlite_url(path: Path) -> str:
    """Address of an SQLite database in a file."""
    return f"sqlite+aiosqlite:///{path}"


def migration_config(connection: Connection) -> Config:
    """Alembic's configuration for the versions inside the installed package, on an open connection."""
    config = Config()
    config.set_main_option("script_location", str(files("gapscope_migrations")).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


async def open_database(url: str) -> Database:
    """Open the database at ``url`` and bring its schema up to date.

    Raises StoreError where it cannot be opened or its schema is newer than this program.
    """
    database = connect(url)
    try:
        await database.upgrade()
    except CommandError as error:
        await database.close()
        raise StoreError(f"{_shown(url)} was written by a newer Gapscope ({error}); upgrade this one") from error
    except (SQLAlchemyError, OSError) as error:
        await database.close()
        cause = error.orig if isinstance(error, DBAPIError) else error
        raise StoreError(f"cannot open the database {_shown(url)}: {cause}") from error
    except Exception:
        await database.close()
        raise
    return database


def connect(url: str) -> Database:
    """The database at ``url`` as it is, its schema untouched; connections open on first use."""
    return Database(_create_engine(url))


def _shown(url: str) -> str:
    """The address without its password."""
    return make_url(url).render_as_string(hide_password=True)


def _create_engine(url: str) -> AsyncEngine:
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return create_async_engine(parsed, pool_pre_ping=True)
    if parsed.database and parsed.database != ":memory:":
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    engine = create_async_engine(parsed)
    event.listen(engine.sync_engine, "connect", _prepare_sqlite)
    event.listen(engine.sync_engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver starts no transactions of its own; _begin_sqlite does
    cursor = connection.cursor()
    for pragma in _SQLITE_PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITE_OPTION, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _upgrade(connection: Connection) -> None:
    command.upgrade(migration_config(connection), "head")
