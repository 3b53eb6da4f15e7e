"""INSERT ... ON CONFLICT for the engines that have it under the same name: SQLite and PostgreSQL."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Table
from sqlalchemy.dialects import postgresql, sqlite

from gapscope_backend.store.models import Base


def insert(dialect: str, model: type[Base] | Table) -> Any:
    """An insert into ``model`` with ``on_conflict_do_nothing`` and ``on_conflict_do_update``."""
    return postgresql.insert(model) if dialect == "postgresql" else sqlite.insert(model)
