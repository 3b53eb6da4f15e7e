"""The fleet in a past minute: stored minutes, empty cells where nothing is, and what is not summed up yet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gapscope_agent.wire import Batch, Entity
from gapscope_backend.store.compaction import compact, due_slots
from tests.backend.batches import NOW, SECOND, TICK, BatchMaker, group
from tests.backend.running import Backend

MINUTE = 60 * SECOND
START = NOW // MINUTE * MINUTE - 60 * MINUTE
both = pytest.mark.both_engines


def minute(host: str, number: int, *ratios: float | None) -> Batch:
    """A minute of a host whose GPUs are active at these ratios; one that is None tells its labels only."""
    begins = START + number * MINUTE
    entities = [
        Entity(f"gpu:GPU-{host}-{at}", "gpu", {"index": str(at), "name": "NVIDIA H200"}) for at in range(len(ratios))
    ]
    groups = [
        group(entity.key, begins, TICK, gpu_graphics_active_ratio=np.full(600, ratio))
        for entity, ratio in zip(entities, ratios, strict=True)
        if ratio is not None
    ]
    maker = BatchMaker(host=host, run_id=f"run-{host}-at{number}")
    return maker.make(begins, begins + MINUTE, groups, entities=entities)


async def summed_up(backend: Backend) -> None:
    """All batches in chunks and minutes, as a worker would do."""
    while due := await due_slots(backend.database, backend.clock() + 3600 * SECOND, 10):
        for one in due:
            await compact(backend.database, one)


async def get(backend: Backend, path: str, status: int = 200) -> Any:
    response = await backend.client.get(f"/api/v1{path}", headers=backend.read)
    assert response.status == status, await response.text()
    return await response.json()


def told(answer: dict[str, Any]) -> dict[str, list[float | None]]:
    return {host["host"]: [gpu["active_mean_ratio"] for gpu in host["gpus"]] for host in answer["hosts"]}


@both
async def test_nothing_is_stored_yet(backend: Backend) -> None:
    assert await get(backend, "/fleet") == {"minute_ms": None, "hosts": []}
    assert await get(backend, "/fleet/bounds") == {"oldest_ms": None, "newest_ms": None}


@both
async def test_a_past_minute_of_all_hosts(backend: Backend) -> None:
    await backend.store(minute("node-1", 0, 0.9, 0.05), minute("node-2", 0, 0.5), minute("node-1", 2, 0.2, 0.2))
    await summed_up(backend)
    newest = await get(backend, "/fleet")
    assert newest["minute_ms"] == (START + 2 * MINUTE) / 1e6
    assert await get(backend, "/fleet/bounds") == {"oldest_ms": START / 1e6, "newest_ms": newest["minute_ms"]}
    assert told(newest) == {"node-1": [0.2, 0.2], "node-2": [None]}
    first = await get(backend, f"/fleet?at={(START + 42 * SECOND) / 1e6:.0f}")
    assert first["minute_ms"] == START / 1e6
    assert told(first) == {"node-1": [0.9, 0.05], "node-2": [0.5]}
    assert [host["idle_gpu_seconds"] for host in first["hosts"]] == [60.0, 0.0]
    assert [host["waiting"] for host in first["hosts"]] == [False, False]


async def test_what_is_not_there_is_null_and_never_zero(backend: Backend) -> None:
    await backend.store(minute("node-1", 0, 0.9, 0.5), minute("node-1", 1, 0.9, None))
    await summed_up(backend)
    (host,) = (await get(backend, f"/fleet?at={(START + MINUTE) / 1e6:.0f}"))["hosts"]
    assert [gpu["active_mean_ratio"] for gpu in host["gpus"]] == [0.9, None]
    assert host["idle_gpu_seconds"] == 0.0
    (hole,) = (await get(backend, f"/fleet?at={(START + 30 * MINUTE) / 1e6:.0f}"))["hosts"]
    assert [gpu["active_mean_ratio"] for gpu in hole["gpus"]] == [None, None]
    assert hole["idle_gpu_seconds"] is None
    assert (await get(backend, f"/fleet?at={(START - MINUTE) / 1e6:.0f}"))["hosts"] == []


@pytest.mark.parametrize("begins", [START, START + 40 * SECOND], ids=["ended", "began"])
async def test_a_host_of_a_part_of_the_minute_was_idle_for_that_only(backend: Backend, begins: int) -> None:
    series = group("gpu:GPU-1", begins, TICK, gpu_graphics_active_ratio=np.full(200, 0.01))
    entity = Entity("gpu:GPU-1", "gpu", {"index": "0"})
    await backend.store(BatchMaker().make(begins, begins + 20 * SECOND, [series], entities=[entity]))
    await summed_up(backend)
    (host,) = (await get(backend, f"/fleet?at={START / 1e6:.0f}"))["hosts"]
    assert host["idle_gpu_seconds"] == pytest.approx(20, abs=0.2)


async def test_gpus_that_were_silent_for_a_day_are_left_out(backend: Backend) -> None:
    await backend.store(minute("node-1", -26 * 60, 0.9, 0.5), minute("node-1", 0, 0.7))
    await summed_up(backend)
    (host,) = (await get(backend, "/fleet"))["hosts"]
    assert [gpu["active_mean_ratio"] for gpu in host["gpus"]] == [0.7]


async def test_a_minute_that_is_not_summed_up_says_so(backend: Backend) -> None:
    await backend.store(minute("node-1", 0, 0.9))
    await summed_up(backend)
    await backend.store(minute("node-2", 0, 0.4))
    one, two = (await get(backend, f"/fleet?at={START / 1e6:.0f}"))["hosts"]
    assert (one["waiting"], two["waiting"]) == (False, True)
    assert two["gpus"][0]["active_mean_ratio"] is None


async def test_a_time_that_is_none(backend: Backend) -> None:
    problem = await get(backend, "/fleet?at=noon", status=400)
    assert problem["where"] == "at"
