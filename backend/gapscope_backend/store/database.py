"""Opening the database: engine, transactions and the schema at its newest version.

Contract: ``read()`` gives a snapshot, ``write()`` one transaction that is committed when the block ends without an
error and rolled back otherwise. SQLite has one writer; ``write()`` queues for it within the process and takes the
file's write lock at once (BEGIN IMMEDIATE), so that no transaction fails half-way because it began as a reader.
PostgreSQL's writers run side by side and lock the rows that they change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, nullcontext
from typing import TypeVar

from alembic.util import CommandError
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, InterfaceError, InternalError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker
from sqlalchemy.orm import Session, sessionmaker

from gapscope_backend.errors import BusyError, StoreError
from gapscope_backend.store.engine import (
    MIGRATES,
    POSTGRESQL,
    READS,
    WRITES,
    create_engine,
    create_writer,
    shown_url,
    sqlite_url,
)
from gapscope_backend.store.metric_sets import MetricSets
from gapscope_backend.store.schema import check_foreign_keys, migration_config, upgrade

__all__ = ["Database", "connect", "migration_config", "open_database", "shown_url", "sqlite_url"]

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

SAMPLE_READERS = 4
"""Of the pool's fifteen connections; more would only share the same cores."""
MAX_SAMPLE_WAITERS = 64


class Database:
    """An open database. Close it with ``close``."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self._writer_engine = engine.execution_options(**{WRITES: True})
        self._writer = async_sessionmaker(self._writer_engine, expire_on_commit=False)
        self._thread_engine = create_writer(engine.url)
        self._thread_writer = sessionmaker(self._thread_engine, expire_on_commit=False)
        self._thread_lock = asyncio.Lock()
        self._write_lock: AbstractAsyncContextManager[object] = asyncio.Lock()
        reader = engine
        if self.dialect == POSTGRESQL:
            self._write_lock = nullcontext()
            snapshot = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True, READS: True}
            reader = engine.execution_options(**snapshot)
        self._reader = async_sessionmaker(reader, expire_on_commit=False)
        self._sample_slots = asyncio.Semaphore(SAMPLE_READERS)
        self._sample_waiters = 0
        self.metric_sets = MetricSets()
        self.reach: tuple[int, int] | None = None
        """Samples and stacks outside of [start, end) (ns) are not told, where chunks reach beyond what is shown."""

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

    async def write_in_thread(self, work: Callable[[Session], Answer]) -> Answer:
        """Like ``write``, for what is written often: all of ``work`` in one thread, so that the lock is held shortest.

        Each statement of ``write`` goes through the event loop, which may have much else to do.
        """
        with _failures_named():
            async with self._thread_lock, self._write_lock:
                return await asyncio.to_thread(self._work, work)

    def _work(self, work: Callable[[Session], Answer]) -> Answer:
        with self._thread_writer.begin() as session:
            return work(session)

    async def upgrade(self) -> None:
        """Bring the schema to its newest version; several processes may do so at once."""
        await self.migrate(upgrade)

    async def migrate(self, step: Callable[[Connection], Answer]) -> Answer:
        """Change the schema in one transaction; all of it or nothing. Raises StoreError where rows lose their host."""
        async with self._write_lock:
            try:
                async with self.engine.execution_options(**{WRITES: True, MIGRATES: True}).begin() as connection:
                    answer = await connection.run_sync(step)
                    await connection.run_sync(check_foreign_keys)
            finally:
                await self.engine.dispose()  # SQLite: the connection does not check foreign keys any more
        return answer

    async def close(self) -> None:
        """Close every connection."""
        await self.engine.dispose()
        await asyncio.to_thread(self._thread_engine.dispose)


@contextmanager
def _failures_named() -> Iterator[None]:
    """What passes fails with what a client may retry on: a full disk, a lock held too long, a connection lost, a
    deadlock, a server that starts or stops (InternalError: it has become read-only)."""
    try:
        yield
    except (OperationalError, InterfaceError, InternalError, PoolTimeoutError) as error:
        log.exception("the database failed")
        raise BusyError("the database cannot be used now; nothing was stored, the server's log says why") from error


async def open_database(url: str) -> Database:
    """Open the database at ``url`` and bring its schema up to date.

    Raises StoreError where it cannot be opened or its schema is newer than this program.
    """
    database = connect(url)
    try:
        await database.upgrade()
    except CommandError as error:
        await database.close()
        raise StoreError(f"{shown_url(url)} was written by a newer Gapscope ({error}); upgrade this one") from error
    except (SQLAlchemyError, OSError) as error:
        await database.close()
        cause = error.orig if isinstance(error, DBAPIError) else error
        raise StoreError(f"cannot open the database {shown_url(url)}: {cause}") from error
    except Exception:
        await database.close()
        raise
    return database


def connect(url: str, patient: bool = False) -> Database:
    """The database at ``url`` as it is, its schema untouched; connections open on first use.

    With ``patient``, statements may take as long as they need: for what counts or moves whole tables.
    """
    return Database(create_engine(url, patient))
