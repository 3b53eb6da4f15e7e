"""A short form of each measurement of the store: prints figures, asserts what was computed and never the time."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.bench import growth, ingest, locks, size
from tests.bench.engines import ENGINES, place
from tests.bench.recorded import OWN, folders

Capture = pytest.CaptureFixture[str]


def shown(capsys: Capture, name: str, figures: object) -> None:
    with capsys.disabled():
        print(f"\n{name}: {json.dumps(figures)}")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_load_is_stored_once(engine: str, capsys: Capture) -> None:
    with place(engine) as where:
        figures = ingest.run(where, ingest.Plan(rate=5, seconds=5, warm_seconds=1))
    shown(capsys, f"ingest, {engine}", {key: figures[key] for key in ("latency_ms", "cpu_ms_per_batch", "watched")})
    wrong = {
        name: count for name, count in figures["readback"].items() if name not in {"acknowledged_batches", "values"}
    }
    assert wrong == dict.fromkeys(wrong, 0)
    assert figures["acknowledged"] == 25
    assert figures["readback"]["values"] == 25_325 * figures["readback"]["acknowledged_batches"]


def test_bytes_a_sample(capsys: Capture) -> None:
    figures = size.measure(folders(OWN)[:3], engines=["sqlite"], others=False)
    shown(capsys, "size", figures)
    for found in figures.values():
        assert found["sqlite"]["bytes"] > found["samples"] * 0.1
        assert set(found["sqlite"]["tiers"]) == {"raw", "10 s", "300 s"}
    assert len({found["samples"] for found in figures.values()}) == 1


def test_write_locks(capsys: Capture) -> None:
    figures = asyncio.run(locks.measure(hosts=2, hours=3))
    shown(capsys, "write locks, ms", figures)
    assert figures["compaction"]["count"] == 2
    assert figures["merging"]["count"] > 2
    assert figures["retention"]["count"] >= figures["retention"]["rows"] / 50


def test_growth(capsys: Capture) -> None:
    figures = growth.measure("sqlite", hosts=20, days=2, rounds=2)
    shown(capsys, "queries", figures)
    assert figures["chunks"] > 20 * 2 * 25
    assert [asked["count"] for asked in figures["queries_ms"].values()] == [3, 3]
    assert all(asked["bytes"] > 100_000 for asked in figures["queries_ms"].values())
