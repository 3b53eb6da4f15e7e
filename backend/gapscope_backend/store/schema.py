"""The schema's versions: bringing a database to the newest, and telling where it differs from the models."""

from __future__ import annotations

from importlib.resources import files

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from gapscope_backend.errors import StoreError
from gapscope_backend.store.engine import POSTGRESQL, SQLITE

_UPGRADE_LOCK = 0x6761_7073_636F_7065
"""Key of the advisory lock under which one process at a time upgrades: "gapscope"."""


def migration_config(connection: Connection) -> Config:
    """Alembic's configuration for the versions inside the installed package, on an open connection."""
    config = Config()
    config.set_main_option("script_location", str(files("gapscope_migrations")).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def upgrade(connection: Connection, version: str = "head") -> None:
    """Bring the schema to a version, in the connection's transaction; a process that comes second finds it done."""
    if connection.dialect.name == POSTGRESQL:
        # What moves many rows may take its time, and so may the process that came first.
        connection.execute(text("SET LOCAL statement_timeout = 0"))
        connection.execute(text("SET LOCAL lock_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _UPGRADE_LOCK})
    command.upgrade(migration_config(connection), version)


def check_foreign_keys(connection: Connection) -> None:
    """On SQLite, where a migration does without the checks: raise StoreError for a row whose host is missing."""
    if connection.dialect.name == SQLITE:
        for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
            raise StoreError(f"row {row} of {table} belongs to no {parent}; nothing was changed")
