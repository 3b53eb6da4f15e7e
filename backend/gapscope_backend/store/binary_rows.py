"""Rows of PostgreSQL in binary form: the bytes of chunks come as they are, without the detour over text."""

from __future__ import annotations

from typing import Any

from psycopg import AsyncConnection, AsyncCursor, AsyncServerCursor
from psycopg.pq import Format
from sqlalchemy import Connection

from gapscope_backend.store.engine import READS


class _Binary(AsyncCursor[Any]):
    def __init__(self, *words: Any, **named: Any) -> None:
        super().__init__(*words, **named)
        self.format = Format.BINARY


class _BinaryOfServer(AsyncServerCursor[Any]):
    def __init__(self, *words: Any, **named: Any) -> None:
        super().__init__(*words, **named)
        self.format = Format.BINARY


def choose_form(connection: Connection) -> None:
    """At the begin of a transaction: binary for readers; migrations and the like meet types without that form."""
    reads = connection.get_execution_options().get(READS, False)
    driver = connection.connection.driver_connection
    if isinstance(driver, AsyncConnection):
        driver.cursor_factory = _Binary if reads else AsyncCursor
        driver.server_cursor_factory = _BinaryOfServer if reads else AsyncServerCursor
