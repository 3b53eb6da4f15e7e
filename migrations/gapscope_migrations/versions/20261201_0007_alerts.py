"""Alert rules, alerts, silences, channels, and messages to be sent."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "20261201_0007"
down_revision = "20261201_0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _settings()
    _alerts()
    _messages()


def _column(name: str, kind: sa.types.TypeEngine[Any]) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


def _settings() -> None:
    op.create_table(
        "alert_rule",
        _column("id", sa.String(64)),
        _column("spec", sa.JSON()),
        _column("origin", sa.String(16)),
        _column("enabled", sa.Boolean()),
        _column("revision", sa.BigInteger()),
        _column("updated_ns", sa.BigInteger()),
        _column("updated_by", sa.String(255)),
        sa.PrimaryKeyConstraint("id", name="pk_alert_rule"),
    )
    op.create_table(
        "silence",
        _column("id", sa.String(32)),
        _column("matchers", sa.JSON()),
        _column("start_ns", sa.BigInteger()),
        _column("end_ns", sa.BigInteger()),
        _column("reason", sa.String()),
        _column("made_ns", sa.BigInteger()),
        _column("made_by", sa.String(255)),
        sa.Column("ended_ns", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_silence"),
    )
    op.create_index("ix_silence_end_ns", "silence", ["end_ns"])
    op.create_table(
        "channel",
        _column("id", sa.String(64)),
        _column("kind", sa.String(16)),
        _column("name", sa.String(255)),
        _column("settings", sa.JSON()),
        _column("secrets", sa.JSON()),
        _column("enabled", sa.Boolean()),
        _column("origin", sa.String(16)),
        _column("revision", sa.BigInteger()),
        _column("updated_ns", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_channel"),
    )


def _alerts() -> None:
    op.create_table(
        "alert",
        _column("host_id", sa.Integer()),
        _column("id", sa.String(32)),
        _column("rule_id", sa.String(64)),
        _column("subject", sa.String(512)),
        _column("state", sa.String(16)),
        sa.Column("no_data_since_ns", sa.BigInteger(), nullable=True),
        _column("incident", sa.String(32)),
        _column("cause", sa.String(64)),
        _column("row_class", sa.String(16)),
        _column("severity", sa.String(16)),
        _column("summary", sa.JSON()),
        sa.Column("value", sa.Double(), nullable=True),
        sa.Column("threshold", sa.Double(), nullable=True),
        _column("began_ns", sa.BigInteger()),
        sa.Column("firing_ns", sa.BigInteger(), nullable=True),
        sa.Column("resolved_ns", sa.BigInteger(), nullable=True),
        _column("updated_ns", sa.BigInteger()),
        _column("start_ns", sa.BigInteger()),
        _column("end_ns", sa.BigInteger()),
        _column("group_key", sa.String(512)),
        _column("labels", sa.JSON()),
        sa.Column("acknowledged_ns", sa.BigInteger(), nullable=True),
        _column("acknowledged_by", sa.String(255)),
        _column("told_state", sa.String(16)),
        sa.Column("told_ns", sa.BigInteger(), nullable=True),
        _column("told_count", sa.BigInteger()),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_alert_host_id"),
        sa.PrimaryKeyConstraint("host_id", "id", name="pk_alert"),
    )
    for columns in (["id"], ["host_id", "state"], ["state", "updated_ns"], ["told_state", "state"]):
        op.create_index(f"ix_alert_{'_'.join(columns)}", "alert", columns)
    op.create_table(
        "alert_watch",
        _column("host_id", sa.Integer()),
        _column("evaluated_ns", sa.BigInteger()),
        _column("state", sa.JSON()),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_alert_watch_host_id"),
        sa.PrimaryKeyConstraint("host_id", name="pk_alert_watch"),
    )
    op.create_table(
        "verdict_minute",
        _column("host_id", sa.Integer()),
        _column("end_ns", sa.BigInteger()),
        _column("stored_ns", sa.BigInteger()),
        _column("ledgers", sa.LargeBinary()),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_verdict_minute_host_id"),
        sa.PrimaryKeyConstraint("host_id", "end_ns", name="pk_verdict_minute"),
    )
    op.create_index("ix_verdict_minute_stored_ns", "verdict_minute", ["stored_ns"])


def _messages() -> None:
    op.create_table(
        "delivery",
        _column("host_id", sa.Integer()),
        _column("id", sa.String(64)),
        _column("channel_id", sa.String(64)),
        _column("group_key", sa.String(512)),
        _column("kind", sa.String(16)),
        _column("state", sa.String(16)),
        _column("message", sa.JSON()),
        _column("alerts", sa.JSON()),
        _column("created_ns", sa.BigInteger()),
        _column("due_ns", sa.BigInteger()),
        _column("attempts", sa.Integer()),
        _column("log", sa.JSON()),
        _column("resend_of", sa.String(64)),
        sa.Column("done_ns", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("host_id", "id", name="pk_delivery"),
    )
    for columns in (["state", "due_ns"], ["created_ns"], ["channel_id", "group_key", "created_ns"]):
        op.create_index(f"ix_delivery_{'_'.join(columns)}", "delivery", columns)


def downgrade() -> None:
    for table in ("delivery", "verdict_minute", "alert_watch", "alert", "channel", "silence", "alert_rule"):
        op.drop_table(table)
