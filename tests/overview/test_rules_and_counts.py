"""Rules are those of the detector, counts and pins those of stored incidents, settings those that were given."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from gapscope_agent.version import __version__
from gapscope_agent.wire import WIRE_VERSION, Accounting
from gapscope_backend.analysis.drops import DEFAULTS
from gapscope_backend.api.app import create_app
from gapscope_backend.api.config import ServerConfig
from gapscope_backend.services import access
from gapscope_backend.services.watch import CostSettings
from gapscope_backend.store.database import Database
from gapscope_backend.store.retention import Retention
from tests.backend.batches import SECOND, BatchMaker, Clock
from tests.backend.running import Backend
from tests.incidents.story import START, Story, batches
from tests.incidents.watching import Watching

both = pytest.mark.both_engines


@pytest.fixture
async def told(database: Database, tmp_path: Path) -> AsyncIterator[Backend]:
    """A server on one closed and one open incident, with a retention of its own."""
    watching = Watching(database, Clock(0), Story())
    await watching.deliver(batches((30, 0.9), (30, 0.02), (30, 0.9), seconds=10))
    await watching.deliver(batches((30, 0.9), (60, 0.02), host="node-2", seconds=10))
    watching.clock.now_ns = START + 91 * SECOND
    clock = watching.clock
    config = ServerConfig(tmp_path, retention=Retention(raw_hours=12.0), allowed_hosts=("gpu.example",))
    client = TestClient(TestServer(create_app(config, database, clock, clock.monotonic, Story())))
    await client.start_server()
    yield Backend(client, database, clock, "", await access.create_token(database, "read", "*", "reader", clock()))
    await client.close()


async def get(backend: Backend, path: str, status: int = 200) -> Any:
    response = await backend.client.get(f"/api/v1{path}", headers=backend.read)
    assert response.status == status, await response.text()
    return await response.json()


async def test_the_rules_are_those_of_the_detector(told: Backend) -> None:
    rules = await get(told, "/incident-rules")
    assert rules["drop"]["level_ratio"] == DEFAULTS.level_ratio
    assert rules["drop"]["min_duration_seconds"] == DEFAULTS.min_duration_seconds
    assert rules["cost"] == {"share": CostSettings().share, "end_share": 0.25, "seconds": CostSettings().seconds}
    assert (rules["opens_for"], rules["opens_unexplained"]) == (["fault"], True)
    assert rules["merge_seconds"] < rules["silent_seconds"]


@both
async def test_what_opened_is_counted_by_host_and_cause(told: Backend) -> None:
    answer = await get(told, "/incident-counts")
    rows = [(row["host"], row["cause"], row["count"], row["still_open"]) for row in answer["rows"]]
    assert rows == [("node-1", "cpu_preprocess", 1, 0), ("node-2", "cpu_preprocess", 1, 1)]
    listed = await get(told, "/incidents")
    assert {row["host"]: row["lost_gpu_seconds"] for row in answer["rows"]} == {
        incident["host"]: incident["lost_gpu_seconds"] for incident in listed
    }
    assert sum(answer["per_step"]) == 2
    assert len(answer["per_step"]) == 24
    chinese = await get(told, "/incident-counts?lang=zh-Hans")
    assert chinese["rows"][0]["title"] != answer["rows"][0]["title"]
    before = await get(told, f"/incident-counts?from={START / 1e6 - 9e6:.0f}&to={START / 1e6:.0f}")
    assert (before["rows"], sum(before["per_step"])) == ([], 0)
    await get(told, "/incident-counts?from=now&to=now-1h", status=400)


@both
async def test_pins_tell_their_incidents(told: Backend) -> None:
    answer = await get(told, "/pins")
    assert answer["total"] == 2
    assert {(pin["host"], pin["until"] is None) for pin in answer["pins"]} == {("node-1", False), ("node-2", True)}
    assert all(pin["from_ms"] < START / 1e6 + 30_000 < pin["to_ms"] for pin in answer["pins"])


async def test_settings_are_those_that_were_given(told: Backend) -> None:
    settings = await get(told, "/settings")
    kept = {one["setting"]: (one["value"], one["unit"]) for one in settings["retention"]}
    assert kept["retention_hours"] == (12.0, "hours")
    assert kept["retention_5min_days"] == (365.0, "days")
    assert settings["allowed_hosts"] == ["gpu.example"]


@both
async def test_agents_tell_version_cost_and_what_became_of_their_values(backend: Backend, maker: BatchMaker) -> None:
    await backend.store(*batches((10, 0.9)))
    odd = batches((5, 0.9), host="node-2")[-1]
    odd.agent_version = "0.0.9"
    odd.accounting = Accounting(sampled=100, delivered=60, buffered=20, spooled=5, dropped={"queue_full": 12})
    await backend.store(odd)
    about = await get(backend, "/about")
    assert (about["version"], about["wire_version"]) == (__version__, WIRE_VERSION)
    assert about["database"]["engine"] == backend.database.dialect
    assert about["database"]["version"][0].isdigit()
    assert about["database"]["size_bytes"] > 0
    same, other = about["agents"]
    assert (same["same_version"], other["same_version"], other["version"]) == (True, False, "0.0.9")
    assert (other["waiting"], other["dropped"], other["unaccounted"]) == (25, {"queue_full": 12}, 3)
    assert (same["cpu_cores"], same["resident_bytes"]) == (None, None)
