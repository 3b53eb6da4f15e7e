"""Incidents, pins of their raw data, rolling verdicts and the watch over each host."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "20261201_0002"
down_revision = "20261201_0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _create_rolling()
    _create_incidents()


def downgrade() -> None:
    for table in ("pin", "incident", "host_watch", "host_verdict"):
        op.drop_table(table)


def _of_host(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["host_id"], ["host.id"], name=f"fk_{table}_host_id")


def _create_rolling() -> None:
    op.create_table(
        "host_verdict",
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("end_ns", sa.BigInteger(), nullable=False),
        sa.Column("made_ns", sa.BigInteger(), nullable=False),
        sa.Column("verdict", sa.LargeBinary(), nullable=False),
        _of_host("host_verdict"),
        sa.PrimaryKeyConstraint("host_id", name="pk_host_verdict"),
    )
    op.create_table(
        "host_watch",
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("watermark_ns", sa.BigInteger(), nullable=False),
        sa.Column("saved_ns", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        _of_host("host_watch"),
        sa.PrimaryKeyConstraint("host_id", name="pk_host_watch"),
    )


def _create_incidents() -> None:
    op.create_table(
        "incident",
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("end_reason", sa.String(32), nullable=False),
        sa.Column("gpus", sa.JSON(), nullable=False),
        sa.Column("cause", sa.String(64), nullable=False),
        sa.Column("row_class", sa.String(16), nullable=False),
        sa.Column("severity", sa.String(16), nullable=False),
        sa.Column("sentence", sa.String(), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=False),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("end_ns", sa.BigInteger(), nullable=False),
        sa.Column("lost_gpu_seconds", sa.Double(), nullable=False),
        sa.Column("settled_until_ns", sa.BigInteger(), nullable=False),
        sa.Column("settled", sa.JSON(), nullable=False),
        sa.Column("episodes", sa.JSON(), nullable=False),
        sa.Column("ledger", sa.JSON(), nullable=False),
        sa.Column("spans", sa.JSON(), nullable=False),
        sa.Column("verdict", sa.LargeBinary(), nullable=False),
        sa.Column("opened_ns", sa.BigInteger(), nullable=False),
        sa.Column("updated_ns", sa.BigInteger(), nullable=False),
        sa.Column("closed_ns", sa.BigInteger(), nullable=True),
        sa.Column("acknowledged_ns", sa.BigInteger(), nullable=True),
        sa.Column("acknowledged_by", sa.String(255), nullable=False),
        sa.Column("comments", sa.JSON(), nullable=False),
        _of_host("incident"),
        sa.PrimaryKeyConstraint("host_id", "id", name="pk_incident"),
    )
    op.create_index("ix_incident_id", "incident", ["id"])
    op.create_index("ix_incident_host_id_start_ns", "incident", ["host_id", "start_ns"])
    op.create_index("ix_incident_state_host_id", "incident", ["state", "host_id"])
    op.create_table(
        "pin",
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("end_ns", sa.BigInteger(), nullable=False),
        sa.Column("until_ns", sa.BigInteger(), nullable=True),
        _of_host("pin"),
        sa.PrimaryKeyConstraint("host_id", "id", name="pk_pin"),
    )
