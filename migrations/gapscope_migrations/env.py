"""Alembic environment: runs on the connection that the store hands over; there is no alembic.ini."""

from __future__ import annotations

from alembic import context

from gapscope_backend.store.models import Base


def run() -> None:
    """Run the migrations asked for on the given connection, inside its transaction."""
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True, compare_type=True)
    with context.begin_transaction():
        context.run_migrations()


run()
