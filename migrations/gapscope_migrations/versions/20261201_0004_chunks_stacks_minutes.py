"""Chunks of series with their metric sets, stacks, minutes of devices, annotations; which batches are in chunks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "20261201_0004"
down_revision = "20261201_0003"
branch_labels = None
depends_on = None

COMPRESSED = (("chunk", "data"), ("stack_chunk", "data"), ("stack", "frames"), ("ingest_hot", "payload"))
"""Compressing these again would cost time and save nothing."""

VIEW = """
CREATE VIEW gpu_minute AS
SELECT :time AS time, h.name AS host, m.device AS gpu, m.samples, m.active_mean_ratio, m.active_min_ratio, m.idle_ratio,
       m.utilization_mean_ratio, m.sm_active_mean_ratio, m.tensor_active_mean_ratio, m.dram_active_mean_ratio,
       m.power_mean_watts, m.power_max_watts, m.temperature_max_celsius, m.memory_used_max_bytes,
       m.pcie_rx_mean_bytes_per_second, m.pcie_tx_mean_bytes_per_second
FROM device_minute m JOIN host h ON h.id = m.host_id
"""
TIME = {
    "postgresql": "to_timestamp(m.minute_ns / 1000000000)",
    "sqlite": "strftime('%Y-%m-%dT%H:%M:%SZ', m.minute_ns / 1000000000, 'unixepoch')",
}


def upgrade() -> None:
    with op.batch_alter_table("host") as table:
        table.add_column(sa.Column("facts_digest", sa.LargeBinary(), server_default="", nullable=False))
        table.add_column(sa.Column("facts_until_ns", sa.BigInteger(), server_default="0", nullable=False))
        table.add_column(sa.Column("raw_from_ns", sa.BigInteger(), server_default="0", nullable=False))
    _create_chunks()
    _create_stacks()
    _create_minutes()
    dialect = op.get_bind().dialect.name
    if dialect == "postgresql":
        for name, column in COMPRESSED:
            op.execute(f"ALTER TABLE {name} ALTER COLUMN {column} SET STORAGE EXTERNAL")
    op.execute(VIEW.replace(":time", TIME[dialect]))


def _create_chunks() -> None:
    op.create_table(
        "metric_set",
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("names", sa.JSON(), nullable=False),
        sa.Column("quanta", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_metric_set"),
    )
    op.create_table(
        "chunk",
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("tier", sa.Integer(), nullable=False),
        sa.Column("t0_ns", sa.BigInteger(), nullable=False),
        sa.Column("t1_ns", sa.BigInteger(), nullable=False),
        sa.Column("group_id", sa.String(length=512), nullable=False),
        sa.Column("received_ns", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column("codec", sa.String(length=16), nullable=False),
        sa.Column("metric_set_id", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_chunk_host_id"),
        sa.ForeignKeyConstraint(["metric_set_id"], ["metric_set.id"], name="fk_chunk_metric_set_id"),
        sa.PrimaryKeyConstraint("host_id", "tier", "t0_ns", "t1_ns", "group_id", name="pk_chunk"),
    )
    op.create_index("ix_chunk_tier_received_ns", "chunk", ["tier", "received_ns"], unique=False)
    op.create_table(
        "ingest_run",
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("ranges", sa.JSON(), nullable=False),
        sa.Column("received_ns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_ingest_run_host_id"),
        sa.PrimaryKeyConstraint("host_id", "run_id", name="pk_ingest_run"),
    )
    op.create_index("ix_ingest_run_received_ns", "ingest_run", ["received_ns"], unique=False)


def _create_stacks() -> None:
    op.create_table(
        "stack",
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("frames", sa.LargeBinary(), nullable=False),
        sa.Column("seen_ns", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_stack_host_id"),
        sa.PrimaryKeyConstraint("host_id", "id", name="pk_stack"),
    )
    op.create_index("ix_stack_host_id_seen_ns", "stack", ["host_id", "seen_ns"], unique=False)
    op.create_table(
        "stack_chunk",
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("t0_ns", sa.BigInteger(), nullable=False),
        sa.Column("t1_ns", sa.BigInteger(), nullable=False),
        sa.Column("process_id", sa.BigInteger(), nullable=False),
        sa.Column("received_ns", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column("codec", sa.String(length=16), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_stack_chunk_host_id"),
        sa.PrimaryKeyConstraint("host_id", "t0_ns", "t1_ns", "process_id", name="pk_stack_chunk"),
    )
    op.create_index("ix_stack_chunk_received_ns", "stack_chunk", ["received_ns"], unique=False)


def _create_minutes() -> None:
    op.create_table(
        "annotation",
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("start_ns", sa.BigInteger(), nullable=False),
        sa.Column("end_ns", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("made_ns", sa.BigInteger(), nullable=False),
        sa.Column("made_by", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_annotation_host_id"),
        sa.PrimaryKeyConstraint("host_id", "id", name="pk_annotation"),
    )
    op.create_index("ix_annotation_host_id_start_ns", "annotation", ["host_id", "start_ns"], unique=False)
    op.create_table(
        "device_minute",
        sa.Column("host_id", sa.Integer(), nullable=False),
        sa.Column("device", sa.String(length=512), nullable=False),
        sa.Column("minute_ns", sa.BigInteger(), nullable=False),
        sa.Column("received_ns", sa.BigInteger(), nullable=False),
        sa.Column("samples", sa.BigInteger(), nullable=False),
        sa.Column("active_mean_ratio", sa.Double(), nullable=True),
        sa.Column("active_min_ratio", sa.Double(), nullable=True),
        sa.Column("idle_ratio", sa.Double(), nullable=True),
        sa.Column("utilization_mean_ratio", sa.Double(), nullable=True),
        sa.Column("sm_active_mean_ratio", sa.Double(), nullable=True),
        sa.Column("tensor_active_mean_ratio", sa.Double(), nullable=True),
        sa.Column("dram_active_mean_ratio", sa.Double(), nullable=True),
        sa.Column("power_mean_watts", sa.Double(), nullable=True),
        sa.Column("power_max_watts", sa.Double(), nullable=True),
        sa.Column("temperature_max_celsius", sa.Double(), nullable=True),
        sa.Column("memory_used_max_bytes", sa.Double(), nullable=True),
        sa.Column("pcie_rx_mean_bytes_per_second", sa.Double(), nullable=True),
        sa.Column("pcie_tx_mean_bytes_per_second", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["host_id"], ["host.id"], name="fk_device_minute_host_id"),
        sa.PrimaryKeyConstraint("host_id", "device", "minute_ns", name="pk_device_minute"),
    )
    op.create_index("ix_device_minute_minute_ns", "device_minute", ["minute_ns"], unique=False)
    op.create_index("ix_device_minute_received_ns", "device_minute", ["received_ns"], unique=False)


def downgrade() -> None:
    op.execute("DROP VIEW gpu_minute")
    with op.batch_alter_table("host") as table:
        for column in ("raw_from_ns", "facts_until_ns", "facts_digest"):
            table.drop_column(column)
    for name in ("stack_chunk", "stack", "ingest_run", "device_minute", "chunk", "annotation", "metric_set"):
        op.drop_table(name)
