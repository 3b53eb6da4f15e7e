"""Jobs that workers claim, and the active ratios of each host's last minute beside its rolling verdict."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "20261201_0003"
down_revision = "20261201_0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "work",
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("due_ns", sa.BigInteger(), nullable=False),
        sa.Column("claimed_by", sa.String(64), nullable=False),
        sa.Column("claimed_until_ns", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.BigInteger(), nullable=False),
        sa.Column("done_ns", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("host_id", "kind", name="pk_work"),
    )
    op.create_index("ix_work_due_ns", "work", ["due_ns"])
    with op.batch_alter_table("host_verdict") as table:
        table.add_column(sa.Column("active", sa.LargeBinary(), nullable=False, server_default="{}"))


def downgrade() -> None:
    with op.batch_alter_table("host_verdict") as table:
        table.drop_column("active")
    op.drop_table("work")
