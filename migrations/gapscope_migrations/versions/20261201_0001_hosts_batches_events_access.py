"""Hosts, batches, events, access: the first version of the schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "20261201_0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _create_hosts()
    _create_batches()
    _create_access()


def downgrade() -> None:
    for table in ("login_token", "login_session", "token", "host_latest", "event", "ingest_hot", "entity", "host"):
        op.drop_table(table)


def _of_host(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=f"fk_{table}_host_id")


def _create_hosts() -> None:
    op.create_table(
        "host",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("recorded", sa.Boolean(), nullable=False),
        sa.Column("agent_version", sa.String(512), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("accounting", sa.JSON(), nullable=False),
        sa.Column("has_stacks", sa.Boolean(), nullable=False),
        sa.Column("first_seen_ns", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_ns", sa.BigInteger(), nullable=False),
        sa.Column("first_data_ns", sa.BigInteger(), nullable=False),
        sa.Column("last_data_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_host"),
        sa.UniqueConstraint("name", name="uq_host_name"),
    )
    op.create_table(
        "entity",
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(512), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("labels", sa.JSON(), nullable=False),
        sa.Column("first_seen_ns", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_ns", sa.BigInteger(), nullable=False),
        _of_host("entity"),
        sa.PrimaryKeyConstraint("host_id", "key", name="pk_entity"),
    )
    op.create_index("ix_entity_host_id_kind_last_seen_ns", "entity", ["host_id", "kind", "last_seen_ns"])


def _create_batches() -> None:
    op.create_table(
        "ingest_hot",
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("t0_ns", sa.BigInteger(), nullable=False),
        sa.Column("t1_ns", sa.BigInteger(), nullable=False),
        sa.Column("received_ns", sa.BigInteger(), nullable=False),
        sa.Column("encoding", sa.String(16), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        _of_host("ingest_hot"),
        sa.PrimaryKeyConstraint("host_id", "run_id", "sequence", name="pk_ingest_hot"),
    )
    op.create_index("ix_ingest_hot_host_id_t0_ns", "ingest_hot", ["host_id", "t0_ns"])
    op.create_index("ix_ingest_hot_received_ns", "ingest_hot", ["received_ns"])
    op.create_table(
        "event",
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(64), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("t_ns", sa.BigInteger(), nullable=False),
        sa.Column("received_ns", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(512), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("entity", sa.String(512), nullable=False),
        _of_host("event"),
        sa.PrimaryKeyConstraint("host_id", "run_id", "sequence", "position", name="pk_event"),
    )
    op.create_index("ix_event_host_id_t_ns", "event", ["host_id", "t_ns"])
    op.create_index("ix_event_received_ns", "event", ["received_ns"])
    op.create_table(
        "host_latest",
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("t_ns", sa.BigInteger(), nullable=False),
        sa.Column("latest", sa.LargeBinary(), nullable=False),
        _of_host("host_latest"),
        sa.PrimaryKeyConstraint("host_id", name="pk_host_latest"),
    )


def _create_access() -> None:
    op.create_table(
        "token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("host_pattern", sa.String(255), nullable=False),
        sa.Column("prefix", sa.String(16), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("last_used_ns", sa.BigInteger(), nullable=True),
        sa.Column("revoked_ns", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_token"),
        sa.UniqueConstraint("hash", name="uq_token_hash"),
    )
    op.create_table(
        "login_session",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("user", sa.String(255), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("expires_ns", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_login_session"),
    )
    op.create_table(
        "login_token",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("created_ns", sa.BigInteger(), nullable=False),
        sa.Column("expires_ns", sa.BigInteger(), nullable=False),
        sa.Column("used_ns", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("hash", name="pk_login_token"),
    )
