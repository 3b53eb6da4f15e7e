"""Links to frozen incidents and spans, and who looks after an incident."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "20261201_0006"
down_revision = "20261201_0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "share",
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("incident", sa.String(32), nullable=False),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("end_ns", sa.BigInteger(), nullable=False),
        sa.Column("view", sa.String(), nullable=False),
        sa.Column("public", sa.Boolean(), nullable=False),
        sa.Column("made_ns", sa.BigInteger(), nullable=False),
        sa.Column("made_by", sa.String(255), nullable=False),
        sa.Column("expires_ns", sa.BigInteger(), nullable=False),
        sa.Column("revoked_ns", sa.BigInteger(), nullable=True),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_share_host_id"),
        sa.PrimaryKeyConstraint("host_id", "id", name="pk_share"),
    )
    for column in ("hash", "id", "expires_ns"):
        op.create_index(f"ix_share_{column}", "share", [column])
    op.create_table(
        "share_piece",
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("share_id", sa.String(32), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_share_piece_host_id"),
        sa.PrimaryKeyConstraint("host_id", "share_id", "position", name="pk_share_piece"),
    )
    # Without making the table anew: that would copy every incident, and this column stands at the end as it is.
    op.add_column("incident", sa.Column("assignments", sa.JSON(), nullable=False, server_default="[]"))


def downgrade() -> None:
    with op.batch_alter_table("incident") as table:
        table.drop_column("assignments")
    op.drop_table("share_piece")
    op.drop_table("share")
