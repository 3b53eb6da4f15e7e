"""Series: buckets against numpy on known data, raw when short, missing spans with their reasons."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gapscope_agent.wire import encode_group
from gapscope_backend.services.times import iso
from tests.backend.batches import GPU, NOW, SECOND, TICK, BatchMaker, Floats, group
from tests.backend.running import Backend

START = NOW - 60 * SECOND
ACTIVE = "gpu_graphics_active_ratio"


async def get(backend: Backend, what: str = "series", **parameters: Any) -> dict[str, Any]:
    asked = {"from": str(START / 1e6), "to": str(NOW / 1e6), **parameters}
    response = await backend.client.get(f"/api/v1/hosts/node-1/{what}", params=asked, headers=backend.read)
    assert response.status == 200, await response.text()
    answer: dict[str, Any] = await response.json()
    return answer


def a_minute() -> Floats:
    """600 ratios with a gap of three samples and a stretch of missing ones."""
    values = np.round(np.random.default_rng(7).uniform(0.2, 1.0, 600), 4)
    values[120:123] = 0.01
    values[300:310] = np.nan
    return values


async def store_minute(backend: Backend, maker: BatchMaker, values: Floats) -> None:
    for at in range(0, 600, 50):
        begin = START + at * TICK
        part = values[at : at + 50]
        times = begin + np.arange(50, dtype=np.int64) * TICK
        reasons = {ACTIVE: {i: "driver gave no number" for i in range(50) if math.isnan(part[i])}}
        made = encode_group(GPU, times, {ACTIVE: part}, reasons)
        await backend.store(maker.make(begin, begin + 50 * TICK, [made]))


@pytest.mark.both_engines
async def test_buckets_agree_with_numpy(backend: Backend, maker: BatchMaker) -> None:
    values = a_minute()
    await store_minute(backend, maker, values)
    answer = await get(backend, entity=GPU, metric=ACTIVE, buckets="20")
    assert answer["raw"] is False
    assert answer["bucket_ms"] == 3000
    (series,) = answer["series"]
    rows = values.reshape(20, 30)
    assert series["time_ms"] == [(START + i * 3 * SECOND) / 1e6 for i in range(20)]
    assert series["mean"] == pytest.approx(np.nanmean(rows, axis=1), abs=1e-5)
    assert series["min"] == pytest.approx(np.nanmin(rows, axis=1))
    assert series["max"] == pytest.approx(np.nanmax(rows, axis=1))
    known = ~np.isnan(rows)
    assert series["idle_share"] == pytest.approx(((rows < 0.1) & known).sum(axis=1) / known.sum(axis=1))
    assert series["idle_share"][4] == pytest.approx(0.1)


async def test_few_samples_come_raw(backend: Backend, maker: BatchMaker) -> None:
    values = a_minute()
    await store_minute(backend, maker, values)
    answer = await get(backend, entity=GPU, metric=ACTIVE, buckets="300")
    assert (answer["raw"], answer["bucket_ms"]) == (True, None)
    (series,) = answer["series"]
    assert len(series["mean"]) == 600
    expected = [None if math.isnan(v) else pytest.approx(v) for v in values]
    assert series["mean"] == expected
    assert series["min"] == series["max"] == series["mean"]
    assert series["idle_share"][119:124] == [0, 1, 1, 1, 0]
    assert series["idle_share"][300] is None


async def test_missing_spans_carry_their_reason(backend: Backend, maker: BatchMaker) -> None:
    await store_minute(backend, maker, a_minute())
    answer = await get(backend, entity=GPU, metric=ACTIVE, buckets="300")
    assert answer["series"][0]["missing"] == [
        {
            "from_ms": (START + 300 * TICK) / 1e6,
            "to_ms": (START + 310 * TICK) / 1e6,
            "reason": "driver gave no number",
        }
    ]


@pytest.mark.both_engines
async def test_a_lost_batch_is_a_missing_span(backend: Backend, maker: BatchMaker) -> None:
    ones = np.ones(50)
    await backend.store(
        maker.make(START, START + 5 * SECOND, [group(GPU, START, TICK, gpu_graphics_active_ratio=ones)]),
        maker.make(
            START + 20 * SECOND,
            START + 25 * SECOND,
            [group(GPU, START + 20 * SECOND, TICK, gpu_graphics_active_ratio=ones)],
        ),
    )
    answer = await get(backend, entity=GPU, metric=ACTIVE, to=str((START + 25 * SECOND) / 1e6))
    (span,) = answer["series"][0]["missing"]
    assert span["reason"] == "not_received"
    assert span["to_ms"] - span["from_ms"] == pytest.approx(15_100)


@pytest.mark.both_engines
async def test_order_and_duplicates_do_not_matter(backend: Backend, maker: BatchMaker) -> None:
    ramp = np.linspace(0.0, 1.0, 50)
    parts = [
        maker.make(at, at + 5 * SECOND, [group(GPU, at, TICK, gpu_graphics_active_ratio=ramp)])
        for at in (START + 5 * SECOND, START, START + 10 * SECOND)
    ]
    await backend.store(*parts, parts[1])
    (series,) = (await get(backend, entity=GPU, metric=ACTIVE))["series"]
    assert series["mean"] == pytest.approx(np.tile(np.round(ramp, 4), 3))
    assert series["time_ms"] == sorted(series["time_ms"])


async def test_wildcards_take_a_kind(backend: Backend, maker: BatchMaker) -> None:
    busy = np.full(50, 0.5)
    groups = [group(f"core:{n}", START, TICK, cpu_core_busy_ratio=busy) for n in range(3)]
    groups.append(group("host", START, TICK, cpu_busy_cores=busy))
    await backend.store(maker.make(START, START + 5 * SECOND, groups))
    answer = await get(backend, entity="core:*", to=str((START + 5 * SECOND) / 1e6))
    assert [(s["entity"], s["metric"]) for s in answer["series"]] == [
        ("core:0", "cpu_core_busy_ratio"),
        ("core:1", "cpu_core_busy_ratio"),
        ("core:2", "cpu_core_busy_ratio"),
    ]
    assert (await get(backend, entity="host", metric="cpu_busy_cores"))["series"][0]["idle_share"] is None


async def test_all_series_of_an_answer_share_the_mode(backend: Backend, maker: BatchMaker) -> None:
    groups = [
        group(GPU, START, TICK, gpu_graphics_active_ratio=np.ones(100)),
        group(GPU, START, SECOND, gpu_processes_count=np.ones(10)),
    ]
    await backend.store(maker.make(START, START + 10 * SECOND, groups))
    answer = await get(backend, buckets="20", to=str((START + 10 * SECOND) / 1e6))
    assert answer["raw"] is False
    assert [len(s["mean"]) for s in answer["series"]] == [20, 20]
    assert answer["series"][1]["mean"][:4] == [1, None, 1, None]


async def test_a_named_series_without_data_is_all_missing(backend: Backend, maker: BatchMaker) -> None:
    await backend.store(
        maker.make(START, START + SECOND, [group(GPU, START, TICK, gpu_graphics_active_ratio=np.ones(10))])
    )
    (series,) = (await get(backend, entity="gpu:GPU-9", metric=ACTIVE))["series"]
    assert series["mean"] == []
    assert [span["reason"] for span in series["missing"]] == ["not_received"]


@pytest.mark.parametrize(
    ("asked", "status", "where", "says"),
    [
        ({"from": "yesterday"}, 400, "from", "ISO 8601"),
        ({"to": "now+5m"}, 400, "to", "now-5m"),
        ({"from": "now", "to": "now-1m"}, 400, "from", "before"),
        ({"from": "2026-13-01T00:00:00Z"}, 400, "from", "ISO 8601"),
        ({"buckets": "0"}, 400, "buckets", "1"),
        ({"buckets": "5001"}, 400, "buckets", "5000"),
        ({"buckets": "many"}, 400, "buckets", "int"),
        ({"bucket": "5"}, 400, "bucket", "no parameter"),
        ({"metric": "gpu_graphic_active_ratio"}, 400, "metric", "did you mean gpu_graphics_active_ratio"),
        ({"entity": ["core:*"] * 201}, 400, "entity", "200"),
        ({"from": "1", "to": ["now", "now"]}, 400, "to", "2 times"),
    ],
)
async def test_bad_parameters_are_named(
    backend: Backend, maker: BatchMaker, asked: dict[str, Any], status: int, where: str, says: str
) -> None:
    await backend.store(
        maker.make(START, START + SECOND, [group(GPU, START, TICK, gpu_graphics_active_ratio=np.ones(10))])
    )
    pairs = [(name, v) for name, value in asked.items() for v in ([value] if isinstance(value, str) else value)]
    response = await backend.client.get("/api/v1/hosts/node-1/series", params=pairs, headers=backend.read)
    assert response.status == status, await response.text()
    problem = await response.json()
    assert problem["where"] == where
    assert says in problem["detail"]


async def test_too_many_series_are_refused(backend: Backend, maker: BatchMaker) -> None:
    groups = [group(f"core:{n}", START, TICK, cpu_core_busy_ratio=np.ones(10)) for n in range(201)]
    await backend.store(maker.make(START, START + SECOND, groups))
    path = "/api/v1/hosts/node-1/series?buckets=5000&entity=core:*"
    response = await backend.client.get(path, headers=backend.read)
    assert response.status == 422
    assert "200 series" in (await response.json())["detail"]


@pytest.mark.parametrize("start", [iso(START), iso(START)[:-1] + "+00:00", "now-60s", "now-1m", f"{START / 1e6}"])
async def test_times_have_several_forms(backend: Backend, maker: BatchMaker, start: str) -> None:
    await store_minute(backend, maker, a_minute())
    answer = await get(backend, entity=GPU, **{"from": start})
    assert answer["start"] == iso(START)
    assert len(answer["series"][0]["mean"]) == 600


async def test_an_unknown_host_is_named(backend: Backend, maker: BatchMaker) -> None:
    await store_minute(backend, maker, a_minute())
    response = await backend.client.get("/api/v1/hosts/node-2/series", headers=backend.read)
    assert response.status == 404
    assert "did you mean node-1" in (await response.json())["detail"]
