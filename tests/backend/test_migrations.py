"""Every version of the schema with data in it: one step after the other to the newest, nothing lost on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Column, Connection, MetaData, Table, select, types

from gapscope_backend.store.database import connect
from gapscope_backend.store.schema import check_foreign_keys, migration_config, upgrade

pytestmark = pytest.mark.both_engines

Row = dict[str, Any]
Kept = dict[str, list[Row]]


def versions(connection: Connection) -> list[str]:
    script = ScriptDirectory.from_config(migration_config(connection))
    return [found.revision for found in reversed([*script.walk_revisions()])]


def tables(connection: Connection) -> dict[str, Table]:
    found = MetaData()
    found.reflect(connection)
    return {table.name: table for table in found.sorted_tables if table.name != "alembic_version"}


def value(column: Column[Any], number: int, host_id: int) -> Any:
    """Something that the column takes, different in each round."""
    if any(key.column.table.name == "host" for key in column.foreign_keys):
        return host_id
    if isinstance(column.type, types.JSON):
        return {"round": number}
    if isinstance(column.type, types.LargeBinary):
        return bytes([number, 0, 255])
    if isinstance(column.type, types.Boolean):
        return number % 2 == 0
    if isinstance(column.type, types.Float):
        return number + 0.125
    if isinstance(column.type, types.Integer):
        return number if isinstance(column.type, types.SmallInteger) else 1_000 + number
    return f"v{number}"


def fill(connection: Connection, number: int) -> Kept:
    """One row more in each table there is, all of one new host; the rows as written."""
    host_id, written = 0, {}
    for name, table in tables(connection).items():
        own = name in ("host", "token")  # their ids come from the database
        row = {c.name: value(c, number, host_id) for c in table.columns if not (own and c.name == "id")}
        key = connection.execute(table.insert().values(row)).inserted_primary_key
        if name == "host":
            assert key is not None
            host_id = key[0]
        written[name] = [row]
    return written


def missing(connection: Connection, kept: Kept) -> list[str]:
    """What was written and is not there as it was, in the columns that are left."""
    gone = []
    for name, table in tables(connection).items():
        found = [dict(row) for row in connection.execute(select(table)).mappings()]
        for row in kept.get(name, []):
            left = {key: value for key, value in row.items() if key in table.columns}
            if not any(all(other[key] == held for key, held in left.items()) for other in found):
                gone.append(f"{name}: {left}")
    return gone


def climb(connection: Connection) -> list[str]:
    kept: Kept = {}
    for number, version in enumerate(versions(connection), start=1):
        upgrade(connection, version)
        assert missing(connection, kept) == []
        for name, rows in fill(connection, number).items():
            kept.setdefault(name, []).extend(rows)
        assert missing(connection, kept) == []
    assert sum(map(len, kept.values())) > 30
    return versions(connection)


def compare(connection: Connection) -> None:
    """Raise where models and tables differ."""
    command.check(migration_config(connection))


async def test_each_step_keeps_what_is_there(new_database: Callable[[], str]) -> None:
    database = connect(new_database())
    assert len(await database.migrate(climb)) >= 3
    await database.migrate(compare)
    await database.close()


async def test_each_step_can_be_taken_back(new_database: Callable[[], str]) -> None:
    database = connect(new_database())

    def down_and_up(connection: Connection) -> None:
        for version in reversed([None, *versions(connection)[:-1]]):
            command.downgrade(migration_config(connection), version or "base")
            check_foreign_keys(connection)
        assert tables(connection) == {}
        upgrade(connection)

    await database.migrate(climb)
    await database.migrate(down_and_up)
    await database.migrate(compare)
    await database.close()


async def test_a_step_that_fails_leaves_the_version_before_it(new_database: Callable[[], str]) -> None:
    database = connect(new_database())

    def break_off(connection: Connection) -> None:
        upgrade(connection, versions(connection)[1])
        raise RuntimeError("power cut")

    await database.migrate(lambda on: upgrade(on, versions(on)[0]))
    with pytest.raises(RuntimeError, match="power cut"):
        await database.migrate(break_off)
    assert "incident" not in await database.migrate(tables)
    await database.upgrade()
    await database.migrate(compare)
    await database.close()
