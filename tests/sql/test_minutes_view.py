"""The documented view: its columns are those of docs/sql.md, and every example there runs and finds what it should."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from gapscope_backend.store.database import Database, connect
from gapscope_backend.store.models import DeviceMinute, Entity, Host
from tests.postgres import PostgresServer

PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text()
EXAMPLES: list[tuple[str, str]] = re.findall(r"```sql\n-- ([^\n]*)\n(.*?)```", PAGE, re.DOTALL)
MINUTE_NS = 60_000_000_000
GPU = "gpu:GPU-1"
LABELS = {"index": "3", "name": "NVIDIA H200"}
ROLE = "gapscope_dashboards"

both = pytest.mark.both_engines


def written_out(query: str, low_ns: int, high_ns: int) -> str:
    """Grafana's macros as its documentation describes them, and the variable ``host``."""
    low, high = (f"to_timestamp({t / 1e9:.0f})" for t in (low_ns, high_ns))
    seconds = {"1m": 60, "5m": 300}
    query = re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 BETWEEN {low} AND {high}", query)
    query = re.sub(r"\$__unixEpochNanoFilter\((\w+)\)", rf"\1 >= {low_ns} AND \1 <= {high_ns}", query)
    query = re.sub(
        r"\$__timeGroupAlias\((\w+), '(\w+)'\)",
        lambda m: f'floor(extract(epoch from {m[1]})/{seconds[m[2]]})*{seconds[m[2]]} AS "time"',
        query,
    )
    query = query.replace("$host", "node-1")
    assert "$" not in query
    return query


@pytest.fixture
async def now_ns(database: Database) -> int:
    """An hour of minutes of one GPU until now: idle with memory held, or busy with gaps, in turn."""
    async with database.read() as session:
        query = "SELECT strftime('%s')" if database.dialect == "sqlite" else "SELECT extract(epoch FROM now())::bigint"
        now = int((await session.execute(text(query))).scalar_one()) // 60 * MINUTE_NS
    async with database.write() as session:
        seen = {"first_seen_ns": 0, "last_seen_ns": now, "first_data_ns": 0, "last_data_ns": now}
        told = {"recorded": False, "agent_version": "1", "labels": {}, "accounting": {}, "has_stacks": False}
        session.add(Host(id=1, name="node-1", **told, **seen))
        await session.flush()
        session.add(Entity(host_id=1, key=GPU, kind="gpu", labels=LABELS, first_seen_ns=0, last_seen_ns=now))
        session.add_all(minute(now - at * MINUTE_NS, idle=at % 2 == 0) for at in range(1, 61))
    return now


def minute(minute_ns: int, idle: bool, device: str = GPU) -> DeviceMinute:
    return DeviceMinute(
        host_id=1,
        device=device,
        minute_ns=minute_ns,
        received_ns=minute_ns,
        samples=600,
        active_mean_ratio=0.0 if idle else 0.7,
        active_min_ratio=0.0,
        idle_ratio=1.0 if idle else 0.25,
        utilization_mean_ratio=0.0 if idle else 0.95,
        power_mean_watts=120.0 if idle else 600.0,
        power_max_watts=700.0,
        memory_used_max_bytes=2.0**33,
    )


async def rows(database: Database, query: str) -> list[dict[str, Any]]:
    async with database.read() as session:
        driver = await session.connection()
        return [dict(row) for row in (await driver.exec_driver_sql(query.replace("%", "%%"))).mappings()]


@both
async def test_the_columns_are_the_documented_ones(database: Database, now_ns: int) -> None:
    table = PAGE.partition("| column |")[2].partition("\n\n")[0]
    documented = [name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1])]
    [row, *_] = await rows(database, "SELECT * FROM gpu_minute ORDER BY minute_ns DESC LIMIT 1")
    assert list(row) == documented
    assert (row["gpu_index"], row["gpu_name"], row["minute_ns"]) == (3, "NVIDIA H200", now_ns - MINUTE_NS)
    if database.dialect == "sqlite":
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:00Z", row["time"])
    else:
        assert row["time"].timestamp() * 1_000_000_000 == now_ns - MINUTE_NS


@both
async def test_every_example_runs(database: Database, now_ns: int) -> None:
    where = "SQLite" if database.dialect == "sqlite" else "PostgreSQL"
    mine = [(about, query) for about, query in EXAMPLES if where in about and "owner" not in about]
    assert len(mine) >= 4
    for about, query in mine:
        shown = written_out(query, now_ns - 3600_000_000_000, now_ns) if "Grafana" in about else query
        found = await rows(database, shown)
        assert found, query
        assert all(value is not None for row in found for value in row.values()), query


@both
async def test_the_figures_are_right(database: Database, now_ns: int) -> None:
    first = next(query for about, query in EXAMPLES if about == "PostgreSQL and SQLite")
    [row] = await rows(database, first)
    assert (row["host"], row["gpus"]) == ("node-1", 1)
    assert row["idle_gpu_hours"] == pytest.approx((30 * 1.0 + 30 * 0.25) / 60)


@both
async def test_a_gpu_that_tells_nothing_of_itself_or_nonsense_has_nulls(database: Database, now_ns: int) -> None:
    async with database.write() as session:
        session.add(minute(now_ns, idle=True, device="gpu:unknown"))
        session.add(minute(now_ns, idle=True, device="gpu:odd"))
        odd = {"index": "three", "name": "x"}
        session.add(Entity(host_id=1, key="gpu:odd", kind="gpu", labels=odd, first_seen_ns=0, last_seen_ns=now_ns))
    found = await rows(
        database, f"SELECT gpu, gpu_index, gpu_name FROM gpu_minute WHERE minute_ns = {now_ns} ORDER BY 1"
    )
    assert [tuple(row.values()) for row in found] == [("gpu:odd", None, "x"), ("gpu:unknown", None, None)]


@both
async def test_a_condition_on_minute_ns_uses_the_index(database: Database, now_ns: int) -> None:
    query = f"SELECT * FROM gpu_minute WHERE minute_ns >= {now_ns}"
    if database.dialect == "sqlite":
        plan = await rows(database, f"EXPLAIN QUERY PLAN {query}")
        assert any("USING INDEX ix_device_minute_minute_ns" in row["detail"] for row in plan)
        return
    async with database.write() as session:
        await session.execute(text("SET LOCAL enable_seqscan = off"))
        lines = [row[0] for row in await session.execute(text(f"EXPLAIN {query}"))]
    assert any("ix_device_minute_minute_ns" in line for line in lines), lines


@pytest.fixture
async def dashboards(database: Database, now_ns: int, postgres: PostgresServer) -> AsyncIterator[Database]:
    """The database as the role of the page sees it."""
    name = str(database.engine.url.database)
    [(_, statements)] = [(about, query) for about, query in EXAMPLES if "owner" in about]
    for statement in statements.split(";"):
        postgres.execute(statement, name)
    opened = connect(f"postgresql://{ROLE}@/{name}?host={postgres.folder}")
    yield opened
    await opened.close()
    postgres.execute(f"DROP OWNED BY {ROLE}", name)
    postgres.execute(f"DROP ROLE {ROLE}", name)


@pytest.mark.parametrize("engine", ["postgresql"])
async def test_the_role_reads_the_view_and_nothing_else(engine: str, dashboards: Database) -> None:
    assert len(await rows(dashboards, "SELECT * FROM gpu_minute")) == 60
    for statement in ("SELECT * FROM token", "SELECT * FROM device_minute", "DELETE FROM device_minute"):
        with pytest.raises(ProgrammingError, match="permission denied"):
            async with dashboards.engine.connect() as plain:
                await plain.execute(text(statement))
    async with dashboards.engine.connect() as plain:
        assert (await plain.execute(text("SHOW default_transaction_read_only"))).scalar_one() == "on"
