"""Hosts, windows, gaps, ribbon and diagnosis from stored batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gapscope_agent.catalog import METRICS
from gapscope_agent.wire import Entity, Event, WireFrame
from gapscope_backend.analysis.causes import CAUSES
from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import ASSUMED_LAG_NS, Window
from gapscope_backend.services.hosts import find_host
from gapscope_backend.services.times import iso
from gapscope_backend.services.windows import load_window
from tests.backend.batches import GPU, NOW, SECOND, TICK, BatchMaker, gpu_entity, group, standard_entities
from tests.backend.running import Backend

START = NOW - 10 * SECOND
DECODE = WireFrame("decode", "PIL/ImageFile.py", 412)
WAIT = WireFrame("wait", "/usr/lib/python3.11/threading.py", 300)
STEP = WireFrame("step", "app.py", 35, "x = step()")
IDLE = WireFrame("idle", "other.py", 1)


async def store(backend: Backend, maker: BatchMaker) -> None:
    """Ten seconds: a GPU with two gaps, cores, a process with two threads and their stacks."""
    active = np.ones(100)
    active[20:25] = 0.0
    active[60:90] = 0.05
    groups = [
        group(GPU, START, TICK, gpu_graphics_active_ratio=active, gpu_power_watts=np.full(100, 123.4)),
        group(GPU, START, 5 * SECOND, gpu_counter_lag_seconds=np.array([0.06, 0.08])),
        group("host", START, TICK, cpu_busy_cores=np.full(100, 2.5)),
        group("core:0", START, TICK, cpu_core_busy_ratio=np.ones(100)),
        group("process:100", START, SECOND, process_cpu_cores=np.ones(10)),
        group("thread:100/100", START, SECOND, thread_cpu_cores=np.ones(10)),
    ]
    stacks = [(START + i * TICK, 100, 100, True, [DECODE, STEP]) for i in range(50)]
    stacks += [(START + i * TICK, 100, 100, False, [WAIT, STEP]) for i in range(50, 100)]
    stacks += [(START + i * TICK, 100, 101, False, [IDLE]) for i in range(100)]
    stacks += [(START + i * TICK, 555, 555, True, [IDLE]) for i in range(100)]
    event = Event(START, "source_state", "stacks: ok")
    await backend.store(
        maker.make(START, NOW, groups, entities=standard_entities(), stacks=stacks, events=[event], recorded=True)
    )


async def get(backend: Backend, path: str, status: int = 200) -> Any:
    response = await backend.client.get(f"/api/v1{path}", headers=backend.read)
    assert response.status == status, await response.text()
    return await response.json()


SPAN = f"from={iso(START)}&to={iso(NOW)}"


@pytest.mark.both_engines
async def test_the_fleet_shows_newest_figures_and_a_verdict(backend: Backend, maker: BatchMaker) -> None:
    await store(backend, maker)
    (host,) = await get(backend, "/hosts")
    (gpu,) = host.pop("gpus")
    assert host == {
        "host": "node-1",
        "state": "live",
        "recorded": True,
        "last_seen": iso(NOW),
        "seconds_since_last_seen": 0,
        "logical_cpus": 16,
        "cpu_busy_cores": 2.5,
        "verdict": "healthy",
        "sentence": "All is well.",
        "lost_gpu_seconds": 1.5,
        "open_incidents": 0,
    }
    minute = gpu.pop("active_last_minute")
    assert len(minute) == 60
    assert minute[:49] == [None] * 49
    assert minute[57:60] == pytest.approx([0.05, 0.05, 1.0], abs=0.25)
    assert gpu["power_watts"] == 123.4
    assert gpu["memory_total_bytes"] == 150754820096


@pytest.mark.parametrize(("seconds", "state"), [(14, "live"), (16, "stale"), (90_000, "retired")])
async def test_a_silent_host_ages(backend: Backend, maker: BatchMaker, seconds: float, state: str) -> None:
    await store(backend, maker)
    backend.clock.advance(seconds)
    assert (await get(backend, "/hosts/node-1"))["state"] == state


async def test_a_verdict_that_fails_empties_no_page(
    backend: Backend, maker: BatchMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store(backend, maker)

    async def broken(*_: Any) -> None:
        raise RuntimeError("no verdict")

    monkeypatch.setattr("gapscope_backend.services.diagnosis.Diagnosis.judge", broken)
    (host,) = await get(backend, "/hosts")
    assert (host["verdict"], host["state"]) == ("", "live")


async def test_a_host_tells_its_facts(backend: Backend, maker: BatchMaker) -> None:
    await store(backend, maker)
    host = await get(backend, "/hosts/node-1")
    assert (host["first_data"], host["last_data"]) == (iso(START), iso(NOW))
    assert (host["logical_cpus"], host["has_stacks"], host["labels"]["kernel"]) == (16, True, "6.1")
    assert [device["power_limit_watts"] for device in host["devices"]] == [700]
    assert host["cores"] == ["core:0", "core:1"]
    (process,) = host["processes"]
    assert (process["pid"], process["parent_pid"], process["owner_of"]) == (100, 1, [GPU])
    assert [event["text"] for event in host["events"]] == ["stacks: ok"]
    await get(backend, "/hosts/nobody", status=404)


@pytest.mark.both_engines
async def test_a_window_holds_everything(backend: Backend, maker: BatchMaker) -> None:
    await store(backend, maker)
    host = await find_host(backend.database, "node-1")
    window = await load_window(backend.database, host, START + SECOND, NOW - SECOND)
    assert (window.host, window.logical_cpus, window.seconds) == ("node-1", 16, 8)
    (gpu,) = window.gpus
    assert (gpu.key, gpu.owners, gpu.power_limit_watts, gpu.pcie_generation) == (GPU, (100,), 700, 5)
    assert gpu.counter_lag_ns == 80_000_000
    assert window.series[GPU, "gpu_power_watts"].values == pytest.approx(np.full(80, 123.4))
    assert window.series[GPU, "gpu_power_watts"].times[0] == START + SECOND
    (process,) = window.processes
    assert (process.pid, process.command) == (100, "python serve.py")
    assert process.threads == {100: "MainThread", 101: "Thread-1"}
    assert window.stacks is not None
    assert window.stacks.times.size == 240
    assert np.all(np.diff(window.stacks.times) >= 0)
    assert [frame.function for frame in window.stacks.frames] == ["decode", "step", "wait", "idle"]
    assert len(window.stacks.stacks) == 3
    assert window.stacks.active.dtype == np.int8


async def test_the_lag_of_a_short_window_is_the_newest_known(backend: Backend, maker: BatchMaker) -> None:
    await store(backend, maker)
    host = await find_host(backend.database, "node-1")
    window = await load_window(backend.database, host, START + SECOND, START + 2 * SECOND)
    assert (window.gpus[0].counter_lag_ns, window.gpus[0].lag_estimated) == (80_000_000, True)


async def test_a_lag_that_nobody_estimated_is_assumed(backend: Backend, maker: BatchMaker) -> None:
    await backend.store(maker.make(START, NOW, [group(GPU, START, TICK, gpu_power_watts=np.ones(100))]))
    host = await find_host(backend.database, "node-1")
    (gpu,) = (await load_window(backend.database, host, START, NOW)).gpus
    assert (gpu.counter_lag_ns, gpu.lag_estimated) == (ASSUMED_LAG_NS, False)


async def test_owners_are_those_of_the_window(backend: Backend, maker: BatchMaker) -> None:
    for n, owners in enumerate(("7", "7,8", "9")):
        start = START + n * SECOND
        power = group(GPU, start, TICK, gpu_power_watts=np.ones(10))
        await backend.store(maker.make(start, start + SECOND, [power], entities=[gpu_entity(owners)]))
    host = await find_host(backend.database, "node-1")
    window = await load_window(backend.database, host, START, START + 2 * SECOND)
    assert window.gpus[0].owners == (7, 8)


async def test_gaps_come_longest_first_with_the_lag_taken_out(backend: Backend, maker: BatchMaker) -> None:
    await store(backend, maker)
    answer = await get(backend, f"/hosts/node-1/gaps?{SPAN}")
    assert (answer["total"], answer["threshold"]) == (2, 0.1)
    first, second = answer["gaps"]
    assert first["to_ms"] - first["from_ms"] == pytest.approx(3000)
    assert first["idle_seconds"] == pytest.approx(30 * 0.095)
    # A sample read at t describes the 100 ms that ended the lag (70 ms) before t: two cells before its own.
    assert first["from_ms"] == pytest.approx((START + 58 * TICK) / 1e6)
    assert second["to_ms"] - second["from_ms"] == pytest.approx(500)
    assert len((await get(backend, f"/hosts/node-1/gaps?{SPAN}&limit=1"))["gaps"]) == 1


@pytest.mark.both_engines
async def test_the_ribbon_names_what_feeds_the_gpu(backend: Backend, maker: BatchMaker) -> None:
    await store(backend, maker)
    answer = await get(backend, f"/hosts/node-1/ribbon?{SPAN}&buckets=10")
    names = [function["function"] for function in answer["functions"]]
    told = [names[bucket["function"]] for bucket in answer["buckets"]]
    # The wait is named by who waits, not by threading.py; threads and processes that feed no GPU are left out.
    assert told == ["decode"] * 5 + ["step"] * 5
    assert answer["buckets"][0] == {
        "time_ms": START / 1e6,
        "function": names.index("decode"),
        "share": 1.0,
        "samples": 10,
        "on_cpu_share": 1.0,
    }
    assert answer["bucket_ms"] == 1000


async def test_an_empty_ribbon_says_why(backend: Backend, maker: BatchMaker) -> None:
    power = group(GPU, START, TICK, gpu_power_watts=np.ones(10))
    await backend.store(maker.make(START, START + SECOND, [power]))
    answer = await get(backend, f"/hosts/node-1/ribbon?{SPAN}")
    assert (answer["buckets"], answer["reason"]) == ([], "this host's agent takes no Python stacks")


async def test_a_diagnosis_is_a_verdict_on_the_span(backend: Backend, maker: BatchMaker) -> None:
    await store(backend, maker)
    answer = await get(backend, f"/hosts/node-1/diagnosis?{SPAN}")
    assert (answer["start_ns"], answer["end_ns"]) == (START, NOW)
    assert (answer["verdict"], answer["title"]) == ("healthy", "7 series")
    assert answer["ledger"][0]["gpu_seconds"] == 10


async def test_the_last_minutes_of_a_young_host_are_what_is_stored(backend: Backend, maker: BatchMaker) -> None:
    await store(backend, maker)
    backend.clock.advance(3)
    answer = await get(backend, "/hosts/node-1/diagnosis?from=now-5m&to=now")
    assert (answer["start_ns"], answer["end_ns"]) == (START, NOW)
    exact = await get(backend, f"/hosts/node-1/diagnosis?from={iso(START - SECOND)}&to=now")
    assert (exact["start_ns"], exact["end_ns"]) == (START - SECOND, NOW + 3 * SECOND)
    backend.clock.advance(600)
    silent = await get(backend, "/hosts/node-1/diagnosis")
    assert (silent["start_ns"], silent["end_ns"]) == (NOW + 303 * SECOND, NOW + 603 * SECOND)


@pytest.mark.parametrize(("what", "hours"), [("diagnosis", 2), ("gaps", 25), ("ribbon", 25)])
async def test_long_spans_are_refused(backend: Backend, maker: BatchMaker, what: str, hours: int) -> None:
    await store(backend, maker)
    problem = await get(backend, f"/hosts/node-1/{what}?from=now-{hours}h", status=422)
    assert "shorter" in problem["detail"]


@pytest.mark.both_engines
async def test_latest_tells_missing_values_and_forgets_the_dead(backend: Backend, maker: BatchMaker) -> None:
    await store(backend, maker)
    start = NOW
    backend.clock.advance(60)
    late = group(GPU, start + 50 * SECOND, TICK, gpu_power_watts=np.append(np.ones(9), np.nan))
    await backend.store(maker.make(start + 50 * SECOND, start + 51 * SECOND, [late], entities=[Entity("host", "host")]))
    answer = await get(backend, "/hosts/node-1/latest")
    assert answer["time"] == iso(start + 51 * SECOND)
    assert answer["values"] == {GPU: {"gpu_power_watts": None}}


async def test_the_catalogue_lists_series_and_causes(backend: Backend) -> None:
    answer = await get(backend, "/catalog")
    assert [metric["name"] for metric in answer["metrics"]] == [metric.name for metric in METRICS]
    assert [cause["id"] for cause in answer["causes"]] == [cause.id for cause in CAUSES]


@pytest.mark.both_engines
async def test_health_tells_the_age_of_the_newest_batch(backend: Backend, maker: BatchMaker) -> None:
    assert (await get(backend, "/health"))["seconds_since_last_batch"] is None
    await store(backend, maker)
    backend.clock.advance(7)
    answer = await get(backend, "/health")
    assert (answer["status"], answer["seconds_since_last_batch"], answer["hosts"]) == ("ok", 7, 1)


async def store_without_gpu(backend: Backend, maker: BatchMaker) -> None:
    busy = group("host", START, TICK, cpu_busy_cores=np.ones(100))
    await backend.store(maker.make(START, NOW, [busy], entities=[Entity("host", "host", {"logical_cpus": "8"})]))


class TestWithoutGpu:
    """A host without a GPU is diagnosed for real."""

    @pytest.fixture
    def analyse(self) -> Callable[[Window], Verdict]:
        return diagnose

    async def test_it_has_a_page_like_any_other(self, backend: Backend, maker: BatchMaker) -> None:
        await store_without_gpu(backend, maker)
        (host,) = await get(backend, "/hosts")
        assert (host["gpus"], host["cpu_busy_cores"], host["lost_gpu_seconds"]) == ([], 1, 0)
        verdict = await get(backend, f"/hosts/node-1/diagnosis?{SPAN}")
        assert (verdict["gpu_count"], verdict["notes"]) == (0, ["This host has no GPU in this window."])
        assert (await get(backend, f"/hosts/node-1/gaps?{SPAN}"))["gaps"] == []

    async def test_its_series_are_not_read_for_a_verdict(
        self, backend: Backend, maker: BatchMaker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await store_without_gpu(backend, maker)

        def refuse(*_: Any) -> None:
            raise AssertionError("series were read")

        monkeypatch.setattr("gapscope_backend.services.windows.read_series", refuse)
        assert (await get(backend, f"/hosts/node-1/diagnosis?{SPAN}"))["verdict"] == "not_measured"

    async def test_a_past_without_data_is_no_lack_of_gpus(self, backend: Backend, maker: BatchMaker) -> None:
        await store_without_gpu(backend, maker)
        span = f"from={iso(START - 60 * SECOND)}&to={iso(START - 30 * SECOND)}"
        verdict = await get(backend, f"/hosts/node-1/diagnosis?{span}")
        assert verdict["sentence"].startswith("There is no data from ")
        assert verdict["notes"] == []
