"""What is exported is what is stored, in every format, on both engines, whatever lies in chunks or hot batches."""

from __future__ import annotations

import asyncio
import csv
import io
import sys
import tracemalloc
from contextlib import aclosing
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy import func, select

from gapscope_agent.catalog import BY_NAME
from gapscope_backend.cli.main import main
from gapscope_backend.errors import UnprocessableError
from gapscope_backend.services import export as exporting
from gapscope_backend.services import export_formats
from gapscope_backend.services.export import export
from gapscope_backend.services.export_formats import make_format
from gapscope_backend.services.export_rows import BUCKET_COLUMNS, ExportQuery, SeriesRows
from gapscope_backend.services.hosts import find_host
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Chunk, IngestHot
from gapscope_backend.store.reader import Selection, read_tier
from gapscope_backend.store.tiers import SECOND_NS, TIERS
from tests.backend.batches import GPU, BatchMaker
from tests.export.stored import LATER, ODD, START, Sample, Told, batches, told
from tests.store.storing import compact_all, count, host_id_of, store

FORMATS = ("csv", "arrow", "parquet")
SECONDS = 720
SPAN = START + 7 * SECOND_NS, START + 700 * SECOND_NS

both = pytest.mark.both_engines


@pytest.fixture
async def filled(database: Database, maker: BatchMaker) -> Database:
    """Some slots in chunks, one half in chunks and half in hot batches, the rest hot."""
    made = list(batches(maker, SECONDS))
    await store(database, *made[:60], now_ns=LATER - 3600 * SECOND_NS)
    await compact_all(database, LATER)
    await store(database, *made[60:], now_ns=LATER)
    assert await count(database, IngestHot)
    assert await count(database, Chunk)
    return database


async def exported(database: Database, name: str, tier: Any = None, selection: Selection | None = None) -> bytes:
    host = await find_host(database, "node-1")
    query = ExportQuery(host.id, *SPAN, selection or Selection(), tier)
    async with aclosing(export(database, host, query, name)) as pieces:
        return b"".join([piece async for piece in pieces])


def rows_of(name: str, data: bytes) -> list[dict[str, Any]]:
    """Rows with the time in ns and None for what is missing."""
    if name == "csv":
        rows: list[dict[str, Any]] = []
        for row in csv.DictReader(io.StringIO(data.decode())):
            assert datetime.fromisoformat(row["time"]).timestamp() * 1e9 == pytest.approx(int(row["time_ns"]), abs=500)
            numbers = {key: float(row[key]) if row[key] else None for key in ("value", *BUCKET_COLUMNS) if key in row}
            rows.append({**row, **numbers, "time": int(row["time_ns"])})
        return rows
    if name == "arrow":
        with pa.ipc.open_stream(data) as reader:
            table = reader.read_all()
    else:
        table = pq.read_table(io.BytesIO(data))
    assert table.schema.field("time").type == pa.timestamp("ns", "UTC")
    times = table["time"].cast(pa.int64()).to_pylist()
    whole = table.drop_columns("time").to_pylist()
    return [{**row, "time": t, "missing": row["missing"] or ""} for t, row in zip(times, whole, strict=True)]


def samples_in(rows: list[dict[str, Any]]) -> dict[Sample, Told]:
    found = {(row["time"], row["entity"], row["metric"]): (row["value"], row["missing"]) for row in rows}
    assert len(found) == len(rows)
    return found


@both
@pytest.mark.parametrize("name", FORMATS)
async def test_samples_come_back_as_stored(filled: Database, name: str) -> None:
    rows = rows_of(name, await exported(filled, name))
    expected = await told(filled, await host_id_of(filled), *SPAN)
    assert samples_in(rows) == expected
    assert any(why == "driver, gone" for _, why in expected.values())
    assert {row["host"] for row in rows} == {"node-1"}
    assert all(row["unit"] == BY_NAME[row["metric"]].unit for row in rows)
    assert ODD in {row["entity"] for row in rows}


@both
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("tier", TIERS, ids=["10s", "5min"])
async def test_buckets_come_back_as_stored(filled: Database, name: str, tier: Any) -> None:
    rows = rows_of(name, await exported(filled, name, tier))
    parts = await read_tier(filled, await host_id_of(filled), 0, 1 << 61, Selection(), tier)
    expected = 0
    by_key = {(row["time"], row["entity"], row["metric"]): row for row in rows}
    for part in parts:
        for number, (entity, metric) in enumerate(part.rows):
            quantum = BY_NAME[metric].quantum
            for at, t in enumerate(part.times.tolist()):
                if not (t + tier.width_ns > SPAN[0] and t < SPAN[1]):
                    continue
                expected += 1
                row, (n, low, high, total, idle) = by_key[t, entity, metric], part.stats[:, number, at].tolist()
                assert row["count"] == n
                assert [row[key] for key in ("min", "mean", "max")] == pytest.approx(
                    [low * quantum, total * quantum / n, high * quantum], abs=quantum / 5
                )
                assert row["idle_share"] == (pytest.approx(idle / n) if metric.endswith("_ratio") else None)
    assert expected == len(rows) > 0


@both
async def test_only_what_was_asked(filled: Database) -> None:
    wanted = Selection((GPU, "core:*"), frozenset({"gpu_power_watts", "cpu_core_busy_ratio"}))
    rows = rows_of("csv", await exported(filled, "csv", selection=wanted))
    assert samples_in(rows) == await told(filled, await host_id_of(filled), *SPAN, wanted)
    assert {row["metric"] for row in rows} == set(wanted.metrics)


def test_an_empty_bucket_says_why() -> None:
    nothing, one = np.array([np.nan, 0.5]), np.array([0, 1])
    columns = {"count": one, "min": nothing, "mean": nothing, "max": nothing, "idle_share": nothing}
    part = SeriesRows(GPU, "gpu_graphics_active_ratio", np.array([0, 10 * SECOND_NS]), columns, {0: "gone"})
    for name in FORMATS:
        out = make_format(name, "node-1", buckets=True)
        rows = rows_of(name, out.begin() + out.add(part) + out.end())
        assert [(row["count"], row["mean"], row["missing"]) for row in rows] == [(0, None, "gone"), (1, 0.5, "")]


@pytest.mark.parametrize("name", FORMATS)
async def test_a_span_without_data_has_no_rows(filled: Database, name: str) -> None:
    host = await find_host(filled, "node-1")
    query = ExportQuery(host.id, 0, START - 3600 * SECOND_NS, Selection(), None)
    async with aclosing(export(filled, host, query, name)) as pieces:
        data = b"".join([piece async for piece in pieces])
    assert rows_of(name, data) == []


@pytest.mark.parametrize("name", FORMATS)
async def test_memory_is_that_of_some_slots_whatever_the_span(
    database: Database, maker: BatchMaker, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four times the span: the same peak, but for what the footer of Parquet and the like add."""
    monkeypatch.setattr(export_formats, "ROWS_AT_ONCE", 5_000)
    monkeypatch.setattr(exporting, "BYTES_AT_ONCE", 16_384)
    peaks = []
    for first, last in ((0, 15), (15, 60)):
        made = (batch for at in range(first, last) for batch in batches(maker, 60, START + at * 60 * SECOND_NS))
        await store(database, *made, now_ns=LATER)
        await compact_all(database, LATER + 3600 * SECOND_NS)
        host = await find_host(database, "node-1")
        query = ExportQuery(host.id, START, START + last * 60 * SECOND_NS, Selection(), None)
        tracemalloc.start()
        async with aclosing(export(database, host, query, name)) as pieces:
            size = sum([len(piece) async for piece in pieces])
        peaks.append((tracemalloc.get_traced_memory()[1], size))
        tracemalloc.stop()
    (short_peak, short_size), (long_peak, long_size) = peaks
    assert long_size > 3 * short_size
    assert long_peak < 1.5 * short_peak


async def test_no_connection_is_held_between_pieces(filled: Database) -> None:
    host = await find_host(filled, "node-1")
    query = ExportQuery(host.id, *SPAN, Selection(), None)
    async with aclosing(export(filled, host, query, "csv")) as pieces:
        await pieces.__anext__()
        async with filled.write() as session:
            assert await session.scalar(select(func.count()).select_from(IngestHot))
        assert filled.engine.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_without_pyarrow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for name in ("arrow", "parquet"):
        with pytest.raises(UnprocessableError, match=r"pip install 'gapscope\[export\]'"):
            make_format(name, "node-1", buckets=False)
    assert make_format("csv", "node-1", buckets=False).begin().startswith(b"time_ns,time,host,")
    assert export_formats.MEDIA_TYPES.keys() == set(FORMATS)


@both
def test_the_command_writes_a_file(
    database_url: str, maker: BatchMaker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from gapscope_backend.store.database import connect

    async def fill() -> dict[Sample, Told]:
        database = connect(database_url)
        await store(database, *batches(maker, SECONDS), now_ns=LATER)
        found = await told(database, await host_id_of(database), *SPAN, Selection((GPU,)))
        await database.close()
        return found

    expected = asyncio.run(fill())
    file = tmp_path / "out.parquet"
    start, end = (str(t // 1_000_000) for t in SPAN)
    words = ["export", "--database", database_url, "--host", "node-1", "--from", start, "--to", end, "-o", str(file)]
    assert main([*words, "--entity", GPU, "--format", "parquet"]) == 0
    assert samples_in(rows_of("parquet", file.read_bytes())) == expected
    before = file.read_bytes()
    assert main([*words, "--metric", "gpu_power_wats"]) == 2
    assert "did you mean gpu_power_watts?" in capsys.readouterr().err
    assert main([*words[:4], "node-9", *words[5:]]) == 2
    assert main([*words[:6], "yesterday", *words[7:]]) == 2
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("out")] == ["out.parquet"]
