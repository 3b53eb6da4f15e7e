"""Does a database hold what it must: the schema at its newest version and like the models, no damage, nothing twice.

Each check gives sentences about what is wrong, none where all is well. A new one is one entry in ``CHECKS``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, select, text

from gapscope_backend.store.database import Database
from gapscope_backend.store.engine import SQLITE
from gapscope_backend.store.ingest_runs import holds
from gapscope_backend.store.models import Base, IngestHot, IngestRun
from gapscope_backend.store.schema import migration_config

__all__ = ["CHECKS", "check_database", "schema_versions"]

Check = Callable[[Database], Awaitable[list[str]]]


async def check_database(database: Database) -> list[str]:
    """All that is wrong, in the order of ``CHECKS``; the rest is not looked at where the schema is not the newest."""
    found = await check_version(database)
    if found:
        return found
    return [sentence for check in CHECKS for sentence in await check(database)]


async def schema_versions(database: Database) -> tuple[str | None, str]:
    """The version that the schema has (None: no table yet), and the newest one."""
    async with database.engine.connect() as connection:
        return await connection.run_sync(_versions)


async def check_version(database: Database) -> list[str]:
    """The schema is at the newest version."""
    current, newest = await schema_versions(database)
    if current == newest:
        return []
    return [f"the schema is at {current or 'no version'}, the newest is {newest}: run `gapscope db upgrade`"]


async def check_models(database: Database) -> list[str]:
    """Tables, columns, indexes and keys are those of the models."""
    async with database.engine.connect() as connection:
        return await connection.run_sync(_differences)


async def check_file(database: Database) -> list[str]:
    """SQLite: every page of the file is sound, every row has the row that it refers to."""
    if database.dialect != SQLITE:
        return []
    async with database.read() as session:
        pages = [row[0] for row in await session.execute(text("PRAGMA quick_check")) if row[0] != "ok"]
        lost = [
            f"row {row} of {table} belongs to no {parent}"
            for table, row, parent, _ in await session.execute(text("PRAGMA foreign_key_check"))
        ]
    return pages + lost


async def check_keys(database: Database) -> list[str]:
    """PostgreSQL: no index and no key that was left half made."""
    if database.dialect == SQLITE:
        return []
    async with database.read() as session:
        rows = await session.execute(
            text(
                "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid "
                "UNION ALL SELECT conname::text FROM pg_constraint WHERE NOT convalidated"
            )
        )
        return [f"{row[0]} is not valid: drop it and make it anew" for row in rows]


async def check_twice(database: Database) -> list[str]:
    """No batch is among the hot ones that went into chunks already."""
    hot: dict[tuple[int, str], list[int]] = defaultdict(list)
    async with database.read() as session:
        for host_id, run_id, sequence in await session.execute(
            select(IngestHot.host_id, IngestHot.run_id, IngestHot.sequence)
        ):
            hot[host_id, run_id].append(sequence)
        runs = await session.execute(select(IngestRun.host_id, IngestRun.run_id, IngestRun.ranges))
        return [
            f"batch {number} of run {run_id} of host {host_id} is hot and in chunks"
            for host_id, run_id, ranges in runs
            for number in hot.get((host_id, run_id), [])
            if holds(ranges, number)
        ]


CHECKS: tuple[Check, ...] = (check_models, check_file, check_keys, check_twice)


def _versions(connection: Connection) -> tuple[str | None, str]:
    newest = ScriptDirectory.from_config(migration_config(connection)).get_current_head()
    return MigrationContext.configure(connection).get_current_revision(), str(newest)


def _differences(connection: Connection) -> list[str]:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return [
        f"the schema differs from the models: {difference}" for difference in compare_metadata(context, Base.metadata)
    ]
