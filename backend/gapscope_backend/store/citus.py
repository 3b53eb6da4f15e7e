"""Citus, PostgreSQL's distributed form: which table lies where, and the calls that put it there.

Tables that hold data of hosts are distributed by ``host_id``: all of one host lies on one node, and every statement
about one host is answered by one node. Tables that those refer to are copied to every node. What concerns no host
(tokens, sessions, rules), and the jobs and messages of the workers, which are locked row by row, stays on the
coordinator: processes talk to the coordinator only.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Table, UniqueConstraint, text
from sqlalchemy.ext.asyncio import AsyncConnection

from gapscope_backend.errors import StoreError
from gapscope_backend.store.alert_models import Delivery
from gapscope_backend.store.database import Database
from gapscope_backend.store.engine import POSTGRESQL
from gapscope_backend.store.models import Base, Work

DISTRIBUTED = "distributed"
REFERENCE = "reference"
LOCAL = "local"
KEY = "host_id"
_CALLS = {
    REFERENCE: "SELECT create_reference_table(CAST(:name AS regclass))",
    DISTRIBUTED: f"SELECT create_distributed_table(CAST(:name AS regclass), '{KEY}')",
}
_ON_COORDINATOR = frozenset({Work.__tablename__, Delivery.__tablename__})
"""These are claimed with FOR UPDATE SKIP LOCKED over many hosts at once, which Citus knows for local tables only."""


def placements() -> dict[str, str]:
    """Where each table lies: reference tables first, then distributed ones, as their foreign keys want it."""
    tables = Base.metadata.sorted_tables
    apart = [table for table in tables if KEY in table.columns and table.name not in _ON_COORDINATOR]
    copied = {key.column.table.name for table in apart for key in table.foreign_keys}
    copied -= {table.name for table in apart}
    found = dict.fromkeys((table.name for table in tables if table.name in copied), REFERENCE)
    found |= dict.fromkeys((table.name for table in apart), DISTRIBUTED)
    return found | {table.name: LOCAL for table in tables if table.name not in found}


def unfit_keys(table: Table) -> Iterator[str]:
    """Keys of a table that Citus would refuse once it is distributed: all must hold the host, or refer to a copy."""
    where = placements()
    if KEY not in table.primary_key.columns:
        yield f"{table.name}: primary key"
    for index in table.indexes:
        if index.unique and KEY not in index.columns:
            yield f"{table.name}: unique index {index.name}"
    for constraint in table.constraints:
        if isinstance(constraint, UniqueConstraint) and KEY not in constraint.columns:
            yield f"{table.name}: unique constraint {constraint.name}"
    for key in table.foreign_key_constraints:
        if where[key.referred_table.name] != REFERENCE and KEY not in key.column_keys:
            yield f"{table.name}: foreign key {key.name}"


async def distribute(database: Database) -> list[str]:
    """Distribute all tables that are not yet; the names of those that were, with where they went.

    Each table is one transaction, as long as its data takes: after a failure the next call goes on. Raises StoreError
    where the database is no Citus, or has a table placed otherwise.
    """
    if database.dialect != POSTGRESQL:
        raise StoreError("only PostgreSQL with the extension citus can be distributed; this database is SQLite")
    done = []
    async with database.engine.connect() as plain:
        connection = await plain.execution_options(isolation_level="AUTOCOMMIT")
        placed = await _placed(connection)
        for name, placement in placements().items():
            if placement == LOCAL or placed.get(name) == placement:
                continue
            if name in placed and placed[name] != LOCAL:
                raise StoreError(
                    f"table {name} is {placed[name]}, but must be {placement}; undistribute_table undoes it"
                )
            await connection.execute(text(_CALLS[placement]), {"name": name})
            done.append(f"{name}: {placement}")
    return done


async def _placed(connection: AsyncConnection) -> dict[str, str]:
    """Tables that Citus knows already, and how."""
    known = await connection.scalar(text("SELECT to_regclass('citus_tables') IS NOT NULL"))
    if not known:
        raise StoreError(
            "this PostgreSQL has no Citus. Install it on every node, set shared_preload_libraries = 'citus', restart, "
            "run CREATE EXTENSION citus in this database on every node and citus_add_node on the coordinator; "
            "docs/database.md has the steps"
        )
    rows = await connection.execute(text("SELECT table_name::text, citus_table_type FROM citus_tables"))
    return {str(row[0]): str(row[1]) for row in rows}
