"""Databases to measure on: a file of SQLite, or a PostgreSQL of one's own that keeps its promises (fsync on)."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg

from gapscope_backend.services.admin import database_url
from tests.postgres import PostgresServer, postgres_server

ENGINES = ("sqlite", "postgresql")


@dataclass(frozen=True)
class Place:
    """A data folder, and the database that goes with it; ``option`` is None for the folder's own file."""

    engine: str
    folder: Path
    option: str | None
    server: PostgresServer | None = None

    @property
    def url(self) -> str:
        """Address of the database."""
        return self.option or database_url(self.folder)

    def ask(self, query: str) -> int:
        """One number out of the database, by a connection of its own; 0 for none."""
        if self.option is not None:
            with psycopg.connect(self.option) as connection:
                row = connection.execute(query.encode()).fetchone()
        else:
            with closing(sqlite3.connect(self.folder / "gapscope.db", timeout=30)) as file:
                row = file.execute(query).fetchone()
        return int(row[0] or 0) if row else 0

    def change(self, *statements: str) -> None:
        """Run statements in one transaction."""
        if self.option is not None:
            with psycopg.connect(self.option) as connection:
                for statement in statements:
                    connection.execute(statement.encode())
        else:
            with closing(sqlite3.connect(self.folder / "gapscope.db", timeout=60)) as file, file:
                for statement in statements:
                    file.execute(statement)

    def vacuum(self) -> None:
        """Give back what nothing uses, so that sizes are those of the data."""
        if self.option is not None:
            with psycopg.connect(self.option, autocommit=True) as connection:
                connection.execute("VACUUM FULL ANALYZE")
        else:
            with closing(sqlite3.connect(self.folder / "gapscope.db", timeout=60, isolation_level=None)) as file:
                file.execute("VACUUM")

    @property
    def disk_bytes(self) -> int:
        """What the database takes on disk, its log of writes left out."""
        if self.option is not None:
            return self.ask("SELECT pg_database_size(current_database())")
        return (self.folder / "gapscope.db").stat().st_size

    @property
    def postmaster(self) -> psutil.Process | None:
        """The first process of the PostgreSQL."""
        if self.server is None:
            return None
        return psutil.Process(int((self.server.data / "postmaster.pid").read_text().splitlines()[0]))


@contextmanager
def place(engine: str) -> Iterator[Place]:
    """An empty place, gone at the end."""
    folder = Path(tempfile.mkdtemp(prefix="gapscope-bench-"))
    try:
        if engine == "sqlite":
            yield Place(engine, folder, None)
            return
        with postgres_server(fast=False) as server:
            yield Place(engine, folder, server.create("bench"), server)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
