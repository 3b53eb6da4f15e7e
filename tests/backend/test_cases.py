"""Recordings of real GPUs through the whole path: the agent's replay, HTTP, the store; and out again as a window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gapscope_agent.config import AgentConfig
from gapscope_agent.replay import run_replay
from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Window
from gapscope_backend.cli.windows import window_of_recording
from gapscope_backend.services.hosts import find_host
from gapscope_backend.services.windows import load_window
from gapscope_backend.store.models import Host
from tests.backend.batches import SECOND
from tests.backend.running import Backend

CASES = Path(__file__).parents[3] / "shared" / "cases"

pytestmark = [
    pytest.mark.cases,
    pytest.mark.skipif(not CASES.is_dir(), reason=f"no recorded cases at {CASES}"),
]


@pytest.fixture
def analyse() -> Callable[[Window], Verdict]:
    return diagnose


async def replay(backend: Backend, name: str) -> Host:
    """Send a recording at its recorded time, as fast as it goes."""
    direct = window_of_recording(CASES / name)
    backend.clock.now_ns = direct.end_ns + 2 * SECOND
    config = AgentConfig(
        server=str(backend.client.make_url("/")).rstrip("/"), token=backend.ingest_token, host=f"node-{name}"
    )
    await run_replay(config, CASES / name, speed=float("inf"), at_recorded_time=True)
    return await find_host(backend.database, f"node-{name}")


@pytest.mark.parametrize("name", ["image-service-pil", "two-gpus-uneven"])
async def test_the_store_gives_back_what_the_recording_holds(backend: Backend, name: str) -> None:
    host = await replay(backend, name)
    direct = window_of_recording(CASES / name)
    stored = await load_window(backend.database, host, direct.start_ns, direct.end_ns)
    assert host.recorded
    assert stored.logical_cpus == direct.logical_cpus
    for mine, told in zip(stored.gpus, direct.gpus, strict=True):
        assert (mine.key, mine.name, mine.owners) == (told.key, told.name, told.owners)
        assert mine.power_limit_watts == told.power_limit_watts
        active = stored.gpu_cells(mine, "gpu_graphics_active_ratio")
        expected = direct.gpu_cells(told, "gpu_graphics_active_ratio")
        assert np.nanmean(active) == pytest.approx(np.nanmean(expected), abs=0.005)
        assert np.isnan(active).sum() <= np.isnan(expected).sum() + 2
    assert {p.pid for p in stored.processes} == {p.pid for p in direct.processes}
    assert stored.stacks is not None
    assert direct.stacks is not None
    assert stored.stacks.times.tolist() == direct.stacks.times.tolist()
    verdict, told_verdict = diagnose(stored), diagnose(direct)
    assert verdict.verdict == told_verdict.verdict
    assert verdict.lost_gpu_seconds == pytest.approx(told_verdict.lost_gpu_seconds, rel=0.05)


async def test_the_page_gets_the_verdict_and_the_ribbon(backend: Backend) -> None:
    host = await replay(backend, "image-service-pil")
    path = f"/api/v1/hosts/{host.name}"
    span = {"from": str(host.first_data_ns / 1e6), "to": str(host.last_data_ns / 1e6)}
    verdict = await (await backend.client.get(f"{path}/diagnosis", params=span, headers=backend.read)).json()
    assert verdict["verdict"] == "cpu_preprocess"
    ribbon = await (await backend.client.get(f"{path}/ribbon", params=span, headers=backend.read)).json()
    assert any(function["file"].startswith("PIL/") for function in ribbon["functions"])
    assert len(ribbon["buckets"]) > 100
    (summary,) = await (await backend.client.get("/api/v1/hosts", headers=backend.read)).json()
    assert (summary["verdict"], summary["recorded"]) == ("cpu_preprocess", True)
    assert sum(value is not None for value in summary["gpus"][0]["active_last_minute"]) >= 20
