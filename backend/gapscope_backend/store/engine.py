"""Engines: addresses of databases, and connections set up as the store needs them.

SQLite is a file with one writer at a time; PostgreSQL (psycopg 3, with or without Citus) takes any number of processes.
A password may stand in the address, in PGPASSWORD or in a pgpass file; it is shown nowhere. Nor is what a failed
statement would have written: some of it is secret.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy import create_engine as create_plain_engine
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from gapscope_backend.errors import StoreError

WRITES = "gapscope_write"
"""Execution option of the engine whose transactions write."""
READS = "gapscope_read"
"""Execution option of the engine whose transactions only read."""
MIGRATES = "gapscope_migrate"
"""Execution option of the engine whose transactions change the schema: SQLite then checks foreign keys at the end only,
for it changes a table by making it anew."""

POSTGRESQL = "postgresql"
SQLITE = "sqlite"
_DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "sqlite+aiosqlite": "sqlite+aiosqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}

# An acknowledgement means committed and the agent then forgets the batch, so a commit must survive a power cut:
# synchronous=FULL (WAL with NORMAL may lose the last commits then). One batch a host every 5 s makes that cheap.
_SQLITE_PRAGMAS = (
    "PRAGMA busy_timeout=10000",
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
)

# A client that went away, a lock that is never given back or a query gone wrong must not hold a connection for good.
# Plans here are short; compiling them (jit) costs more than it saves.
_POSTGRESQL_SETTINGS = {
    "statement_timeout": "60s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "60s",
    "jit": "off",
}
CONNECTIONS = 10
"""Kept open to PostgreSQL by each process; ``MORE_CONNECTIONS`` more are opened at a peak."""
MORE_CONNECTIONS = 5
CONNECT_SECONDS = 10


def sqlite_url(path: Path) -> str:
    """Address of an SQLite database in a file."""
    return f"sqlite+aiosqlite:///{path}"


def parse_url(url: str) -> URL:
    """A database address with the driver that is used. Raises StoreError for one that is none."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise StoreError("the database address is none; want postgresql://USER@HOST/NAME or sqlite:///FILE") from error
    driver = _DRIVERS.get(parsed.drivername)
    if driver is None:
        raise StoreError(f"{parsed.drivername} is no database for Gapscope; want postgresql://... or sqlite:///FILE")
    return parsed.set(drivername=driver)


def shown_url(url: str) -> str:
    """The address without its password."""
    parsed = parse_url(url)
    if "password" in parsed.query:
        parsed = parsed.update_query_dict({"password": "***"})
    return parsed.render_as_string(hide_password=True)


def create_engine(url: str, patient: bool = False) -> AsyncEngine:
    """An engine on the database at ``url``; connections open on first use. A ``patient`` one lets statements run on."""
    parsed = parse_url(url)
    if parsed.get_backend_name() != POSTGRESQL:
        return _sqlite(parsed)
    engine = create_async_engine(**_postgresql(parsed, patient), pool_size=CONNECTIONS, max_overflow=MORE_CONNECTIONS)
    from gapscope_backend.store.binary_rows import choose_form  # the driver is loaded only where it is used

    event.listen(engine.sync_engine, "begin", choose_form)
    return engine


def create_writer(url: URL) -> Engine:
    """An engine with one connection, whose transactions write and are done in a thread, each from begin to end."""
    if url.get_backend_name() == POSTGRESQL:
        return create_plain_engine(**_postgresql(url, patient=False), pool_size=1)
    engine = create_plain_engine(url.set(drivername="sqlite+pysqlite"), hide_parameters=True, pool_size=1)
    _prepare(engine)
    return engine.execution_options(**{WRITES: True})


def _postgresql(url: URL, patient: bool) -> dict[str, Any]:
    """What makes an engine."""
    given = url.query.get("options", "")
    settings = _POSTGRESQL_SETTINGS | ({"statement_timeout": "0"} if patient else {})
    own = " ".join(f"-c {name}={value}" for name, value in settings.items())
    arguments = {
        "options": f"{own} {given if isinstance(given, str) else ' '.join(given)}".strip(),
        "connect_timeout": CONNECT_SECONDS,
        "application_name": "gapscope",
    }
    return {
        "url": url.difference_update_query(["options"]),
        "connect_args": {
            name: value for name, value in arguments.items() if name not in url.query or name == "options"
        },
        "pool_pre_ping": True,
        "hide_parameters": True,
    }


def _sqlite(url: URL) -> AsyncEngine:
    if url.database and url.database != ":memory:":
        Path(url.database).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    engine = create_async_engine(url, hide_parameters=True)
    _prepare(engine.sync_engine)
    return engine


def _prepare(engine: Engine) -> None:
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver starts no transactions of its own; _begin_sqlite does
    cursor = connection.cursor()
    for pragma in _SQLITE_PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get(MIGRATES, False):
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
    writes = options.get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
