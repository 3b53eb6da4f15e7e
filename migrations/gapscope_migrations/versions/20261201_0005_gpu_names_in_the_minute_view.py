"""The view of minutes tells index and name of the GPU, and the minute in ns, which has an index.

Columns are added at the end, so that PostgreSQL keeps the view and who may read it. A later version that changes
``host``, ``entity`` or ``device_minute`` on SQLite must drop the view first and make it anew.
"""

from __future__ import annotations

from alembic import op

revision = "20261201_0005"
down_revision = "20261201_0004"
branch_labels = None
depends_on = None

COLUMNS = """:time AS time, h.name AS host, m.device AS gpu, m.samples, m.active_mean_ratio, m.active_min_ratio,
       m.idle_ratio, m.utilization_mean_ratio, m.sm_active_mean_ratio, m.tensor_active_mean_ratio,
       m.dram_active_mean_ratio, m.power_mean_watts, m.power_max_watts, m.temperature_max_celsius,
       m.memory_used_max_bytes, m.pcie_rx_mean_bytes_per_second, m.pcie_tx_mean_bytes_per_second"""
BEFORE = "CREATE VIEW gpu_minute AS SELECT :columns FROM device_minute m JOIN host h ON h.id = m.host_id"
NOW = """CREATE VIEW gpu_minute AS
SELECT :columns, :index AS gpu_index, :name AS gpu_name, m.minute_ns
FROM device_minute m JOIN host h ON h.id = m.host_id
LEFT JOIN entity e ON e.host_id = m.host_id AND e.key = m.device
"""
# A label is what an agent told: an index that is no number must not make the whole query fail.
PARTS = {
    "postgresql": {
        ":time": "to_timestamp(m.minute_ns / 1000000000)",
        ":index": "CASE WHEN e.labels ->> 'index' ~ '^[0-9]{1,9}$' THEN (e.labels ->> 'index')::integer END",
        ":name": "e.labels ->> 'name'",
    },
    "sqlite": {
        ":time": "strftime('%Y-%m-%dT%H:%M:%SZ', m.minute_ns / 1000000000, 'unixepoch')",
        ":index": "CASE WHEN json_extract(e.labels, '$.index') NOT GLOB '*[^0-9]*' "
        "THEN CAST(json_extract(e.labels, '$.index') AS INTEGER) END",
        ":name": "json_extract(e.labels, '$.name')",
    },
}


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        _make(NOW.replace("CREATE VIEW", "CREATE OR REPLACE VIEW"))
        return
    op.execute("DROP VIEW gpu_minute")
    _make(NOW)


def downgrade() -> None:
    op.execute("DROP VIEW gpu_minute")
    _make(BEFORE)


def _make(statement: str) -> None:
    statement = statement.replace(":columns", COLUMNS)
    for name, part in PARTS[op.get_bind().dialect.name].items():
        statement = statement.replace(name, part)
    op.get_bind().exec_driver_sql(statement)
