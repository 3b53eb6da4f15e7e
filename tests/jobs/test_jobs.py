"""Jobs over HTTP: a recorded one with two ranks, one over two hosts, and what is not known of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gapscope_agent.wire import Entity
from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Window
from gapscope_backend.services.gpu_jobs import Started, started_with
from gapscope_backend.store.models import Entity as Row
from tests.backend.batches import NOW, SECOND, TICK, BatchMaker, group
from tests.backend.running import Backend
from tests.backend.test_cases import CASES, replay
from tests.store.storing import store

recorded = pytest.mark.skipif(not CASES.is_dir(), reason=f"no recorded cases at {CASES}")
START = NOW - 60 * SECOND


@pytest.fixture
def analyse() -> Callable[[Window], Verdict]:
    return diagnose


async def job_of(backend: Backend, job: str, expected: int = 200, **query: str) -> Any:
    response = await backend.client.get(f"/api/v1/jobs/{job}", params=query, headers=backend.read)
    assert response.status == expected, await response.text()
    return await response.json()


@pytest.mark.cases
@recorded
async def test_two_ranks_of_a_recorded_job(backend: Backend) -> None:
    host = await replay(backend, "ddp-straggler")
    told = await job_of(backend, f"{host.name}:1044")
    assert (told["job"], told["verdict"]) == (f"{host.name}:1044", "straggler")
    [part] = told["parts"]
    assert [gpu["index"] for gpu in part["gpus"]] == [0, 1]
    assert not any(gpu["shared"] for gpu in part["gpus"])
    ranks = [rank["process"] for rank in part["ranks"]]
    assert [(rank["pid"], len(rank["gpus"])) for rank in ranks] == [(1076, 1), (1077, 1)]
    assert {rank["gpus"][0] for rank in ranks} == {gpu["entity"] for gpu in part["gpus"]}
    for rank in ranks:
        assert 0 < rank["active_ratio"] <= 1
        assert rank["cpu_cores"] > 0.3
        assert rank["hotspot"]["function"]
    total = sum(row["gpu_seconds"] for row in told["ledger"])
    assert total == pytest.approx(told["gpu_seconds"]) == pytest.approx(part["verdict"]["gpu_seconds"])
    assert (told["world_size"], told["master"], told["requests"]) == (None, "", None)
    by_rank = await job_of(backend, f"{host.name}:1077")
    assert by_rank == told


@pytest.mark.cases
@recorded
async def test_two_processes_of_one_job_share_a_gpu(backend: Backend) -> None:
    host = await replay(backend, "two-tenants")
    told = await job_of(backend, f"{host.name}:11777", lang="zh-Hans")
    [part] = told["parts"]
    assert [rank["process"]["pid"] for rank in part["ranks"]] == [11777, 11793]
    assert len(part["gpus"]) == 1
    assert any("一" <= sign <= "鿿" for sign in told["title"])


async def send(
    backend: Backend, host: str, started: str, active: float, pids: tuple[int, ...] = (100,), seconds: int = 30
) -> None:
    """A host of which each process holds a GPU of its own, below one launcher."""
    entities = [
        Entity("host", "host", {"logical_cpus": "16"}),
        Entity("process:90", "process", {"parent_pid": "1", "command": "torchrun train.py"}),
        Entity("process:500", "process", {"parent_pid": str(pids[0]), "command": "python worker"}),
    ]
    groups = [group("process:500", START, TICK, process_cpu_cores=np.full(seconds * 10, 0.5))]
    for index, pid in enumerate(pids):
        key = f"gpu:{host}-{index}"
        labels = {"parent_pid": "90", "command": "python train.py", "owner_of": key}
        environment = {"environment": f"RANK={index} {started}"} if started else {}
        entities.append(Entity(f"process:{pid}", "process", labels | environment))
        entities.append(Entity(key, "gpu", {"index": str(index), "name": "NVIDIA H200", "owners": str(pid)}))
        groups.append(group(key, START, TICK, gpu_graphics_active_ratio=np.full(seconds * 10, active)))
    maker = BatchMaker(host=host, run_id=f"run-{host}")
    end_ns = START + seconds * SECOND
    await store(backend.database, maker.make(START, end_ns, groups, entities=entities), now_ns=NOW)


@pytest.mark.both_engines
async def test_hosts_of_one_master_are_one_job(backend: Backend) -> None:
    master = "MASTER_ADDR=10.0.0.7 WORLD_SIZE=4"
    await send(backend, "node-1", master, 0.9)
    await send(backend, "node-2", master, 0.02)
    told = await job_of(backend, "node-1:90")
    assert [part["host"] for part in told["parts"]] == ["node-1"]
    assert told["unsure_hosts"] == ["node-2"]
    await send(backend, "node-3", f"RANK=2 {master}", 0.02)
    await send(backend, "node-4", "MASTER_ADDR=10.0.0.7 WORLD_SIZE=40 RANK=3", 0.02)
    await send(backend, "node-5", "MASTER_ADDR=10.0.0.70 WORLD_SIZE=4 RANK=3", 0.02)
    told = await job_of(backend, "node-1:90")
    assert [part["host"] for part in told["parts"]] == ["node-1", "node-3"]
    assert [rank["rank"] for part in told["parts"] for rank in part["ranks"]] == [0, 2]
    assert (told["world_size"], told["master"], told["missing_ranks"]) == (4, "10.0.0.7", [1, 3])
    assert told["gpu_seconds"] == pytest.approx(60)
    assert sum(row["gpu_seconds"] for row in told["ledger"]) == pytest.approx(60)
    assert sum(row["share"] for row in told["ledger"]) == pytest.approx(1)
    from_the_other = await job_of(backend, "node-3:100")
    assert {part["host"] for part in from_the_other["parts"]} == {"node-1", "node-3"}


@pytest.mark.parametrize("master", ["MASTER_ADDR=localhost WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1 WORLD_SIZE=2", ""])
async def test_a_job_of_one_host_stays_one(backend: Backend, master: str) -> None:
    await send(backend, "node-1", master, 0.9)
    await send(backend, "node-2", f"RANK=1 {master}", 0.9)
    told = await job_of(backend, "node-1:90")
    assert ([part["host"] for part in told["parts"]], told["master"]) == (["node-1"], "")
    assert told["missing_ranks"] == ([1] if master else [])
    [rank] = told["parts"][0]["ranks"]
    assert rank["rank"] == (0 if master else None)
    process = rank["process"]
    assert (process["workers"], process["worker_cores"], process["cpu_cores"]) == (1, pytest.approx(0.5), None)


async def test_what_is_no_job(backend: Backend) -> None:
    await send(backend, "node-1", "", 0.9)
    for job, status in (("node-1:7", 404), ("node-9:90", 404), ("node-1", 400), ("node-1:x", 400), (":90", 400)):
        assert (await job_of(backend, job, status))["detail"], job
    span = {"from": str(START / 1e6 - 9_000), "to": str(START / 1e6 - 5_000)}
    assert "in that time" in (await job_of(backend, "node-1:90", 404, **span))["detail"]
    assert "both" in (await job_of(backend, "node-1:90", 400, **{"from": "now-5m"}))["detail"]
    assert "one hour" in (await job_of(backend, "node-1:90", 422, **{"from": "now-2h", "to": "now"}))["detail"]


@pytest.mark.parametrize(
    ("label", "started"),
    [
        ("", Started()),
        ("RANK=3 LOCAL_RANK=1 WORLD_SIZE=8 MASTER_ADDR=10.0.0.1", Started(3, 1, 8, "10.0.0.1")),
        ("RANK=x WORLD_SIZE=-1 CUDA_VISIBLE_DEVICES=0,1 odd", Started()),
    ],
)
def test_what_a_process_was_started_with(label: str, started: Started) -> None:
    row = Row(host_id=1, key="process:1", kind="process", labels={"environment": label})
    assert started_with(row) == started
    assert started_with(None) == Started()
