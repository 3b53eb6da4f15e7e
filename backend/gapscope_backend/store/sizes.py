"""How much a database holds: rows and bytes of each table, and what each host costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Executable, case, func, select, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncSession

from gapscope_backend.store.database import Database
from gapscope_backend.store.engine import SQLITE
from gapscope_backend.store.models import Base, Chunk, Host, IngestHot, StackChunk
from gapscope_backend.store.tiers import RAW


@dataclass(frozen=True)
class TableSize:
    """A table; ``size_bytes`` with its indexes, None where the engine does not tell."""

    name: str
    rows: int
    size_bytes: int | None


@dataclass(frozen=True)
class HostSize:
    """What a host holds: batches not in chunks yet, chunks of series with the samples in them, chunks of stacks."""

    name: str
    hot_batches: int
    hot_bytes: int
    chunk_bytes: int
    samples: int
    stack_bytes: int

    @property
    def bytes_per_sample(self) -> float | None:
        """Bytes of all tiers for each sample that is kept raw."""
        return self.chunk_bytes / self.samples if self.samples else None


@dataclass(frozen=True)
class Sizes:
    """A database as a whole."""

    size_bytes: int
    tables: list[TableSize]
    hosts: list[HostSize]


async def read_sizes(database: Database) -> Sizes:
    """Count everything; on a large database this reads whole tables."""
    async with database.read() as session:
        total, of_tables = await _bytes(session, database.dialect)
        tables = [
            TableSize(name, await session.scalar(select(func.count()).select_from(table)) or 0, of_tables.get(name))
            for name, table in sorted(Base.metadata.tables.items())
        ]
        return Sizes(total, tables, await _hosts(session))


async def _bytes(session: AsyncSession, dialect: str) -> tuple[int, Mapping[str, int]]:
    if dialect == SQLITE:
        pages = await session.scalar(text("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"))
        return int(pages or 0), await _sqlite_tables(session)
    total = await session.scalar(text("SELECT pg_database_size(current_database())"))
    citus = await session.scalar(text("SELECT to_regclass('citus_tables') IS NOT NULL"))
    query = "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid)"
    sizes = await _pairs(session, query)
    if citus:
        query = "SELECT table_name::text, citus_total_relation_size(table_name, false) FROM citus_tables"
        sizes |= await _pairs(session, query)
        total = max(int(total or 0), sum(sizes.get(name, 0) for name in Base.metadata.tables))
    return int(total or 0), sizes


async def _sqlite_tables(session: AsyncSession) -> dict[str, int]:
    """Bytes of each table with its indexes, where this SQLite was built with ``dbstat``."""
    query = (
        "SELECT m.tbl_name, sum(s.pgsize) FROM dbstat s JOIN sqlite_schema m ON m.name = s.name "
        "WHERE s.aggregate = TRUE GROUP BY m.tbl_name"
    )
    try:
        return await _pairs(session, query)
    except OperationalError:
        return {}


async def _pairs(session: AsyncSession, query: str) -> dict[str, int]:
    return {str(row[0]): int(row[1]) for row in await session.execute(text(query))}


async def _hosts(session: AsyncSession) -> list[HostSize]:
    hot = select(IngestHot.host_id, func.count(), func.sum(func.length(IngestHot.payload)))
    raw_samples = func.sum(case((Chunk.tier == RAW, Chunk.samples), else_=0))
    chunks = select(Chunk.host_id, func.sum(func.length(Chunk.data)), raw_samples)
    stacks = select(StackChunk.host_id, func.sum(func.length(StackChunk.data)))
    batches = await _numbers(session, hot.group_by(IngestHot.host_id))
    series = await _numbers(session, chunks.group_by(Chunk.host_id))
    stacked = await _numbers(session, stacks.group_by(StackChunk.host_id))
    rows = await session.execute(select(Host.id, Host.name).order_by(Host.name))
    return [
        HostSize(name, *batches.get(key, (0, 0)), *series.get(key, (0, 0)), *stacked.get(key, (0,)))
        for key, name in rows
    ]


async def _numbers(session: AsyncSession, query: Executable) -> dict[int, tuple[int, ...]]:
    """Sums by host; PostgreSQL gives some of them as decimals."""
    return {row[0]: tuple(int(value) for value in row[1:]) for row in await session.execute(query)}
