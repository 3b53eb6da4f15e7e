"""Rules, alerts and silences over HTTP, and previews over what is stored."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestClient, TestServer

from gapscope_backend.alerts.files import default_specs
from gapscope_backend.api.app import create_app
from gapscope_backend.api.config import ServerConfig
from gapscope_backend.services import access
from gapscope_backend.services.alert_rules import sync_rules
from gapscope_backend.store.database import Database
from tests.alerts.stage import Stage, arriving
from tests.alerts.test_drop_alerts import DROP, a_drop
from tests.incidents.story import START, Story

API = "/api/v1"
OURS = {"Sec-Fetch-Site": "same-origin"}
FROM, TO = START / 1e6, START / 1e6 + 190_000


@dataclass
class Person:
    """Somebody who is logged in at a server over the stage's database."""

    client: TestClient[Any, Any]
    stage: Stage

    async def call(self, method: str, path: str, body: Any = None, expected: int = 200) -> Any:
        response = await self.client.request(method, f"{API}{path}", json=body, headers=OURS)
        text = await response.text()
        assert response.status == expected, text
        return json.loads(text) if text else None


@pytest.fixture
async def person(tmp_path: Path, database: Database) -> AsyncIterator[Person]:
    stage = Stage(database, DROP, Story(), channels=())
    (tmp_path / "index.html").write_text("<!doctype html><title>Gapscope</title>")
    config = ServerConfig(data_dir=tmp_path, static_dir=tmp_path)
    server = TestServer(create_app(config, database, stage.clock, stage.clock.monotonic))
    await server.start_server(auto_decompress=False)
    client = TestClient(server, cookie_jar=aiohttp.CookieJar(unsafe=True))
    login = await access.create_login(database, stage.clock())
    assert (await client.post(f"{API}/login", json={"token": login}, headers=OURS)).status == 200
    yield Person(client, stage)
    await client.close()


async def test_rules_are_changed_checked_and_taken_back(person: Person, database: Database) -> None:
    await sync_rules(database, default_specs(), 1)
    rules = {rule["id"]: rule for rule in await person.call("GET", "/alert-rules")}
    assert set(rules) == set(default_specs())
    assert (rules["gpu-drop"]["origin"], rules["no-work"]["enabled"]) == ("default", False)
    changed = await person.call("PUT", "/alert-rules/gpu-drop", {"spec": {**rules["gpu-drop"]["spec"], "for": "5m"}})
    assert (changed["origin"], changed["spec"]["for"], changed["revision"]) == ("api", "5m", 2)
    await sync_rules(database, default_specs(), 2)
    assert next(r for r in await person.call("GET", "/alert-rules") if r["id"] == "gpu-drop")["spec"]["for"] == "5m"
    problem = await person.call("PUT", "/alert-rules/mine", {"spec": {"kind": "cause_holdin"}}, 422)
    assert "did you mean cause_holding?" in problem["detail"]
    await person.call("PUT", "/alert-rules/mine", {"spec": {"kind": "xid", "unless": ["nobody"]}}, 422)
    await person.call("PUT", "/alert-rules/mine", {"spec": {"kind": "xid"}})
    await person.call("DELETE", "/alert-rules/mine", expected=204)
    await person.call("DELETE", "/alert-rules/mine", expected=404)
    await person.call("DELETE", "/alert-rules/gpu-drop", expected=204)
    back = next(rule for rule in await person.call("GET", "/alert-rules") if rule["id"] == "gpu-drop")
    assert (back["origin"], back["spec"]["for"]) == ("default", "30s")
    await person.call("DELETE", "/alert-rules/gpu-drop", expected=403)


async def test_alerts_are_listed_acknowledged_and_silenced(person: Person) -> None:
    await person.stage.play(arriving(a_drop()), 140)
    (alert,) = await person.call("GET", "/alerts")
    assert (alert["state"], alert["rule"], alert["host"], alert["cause"]) == (
        "firing",
        "drop",
        "node-1",
        "cpu_preprocess",
    )
    assert (alert["silenced"], alert["acknowledged"]) == (False, None)
    assert "GPU 0" in alert["sentence"]
    (chinese,) = await person.call("GET", "/alerts?lang=zh&state=firing&host=node-1&rule=drop")
    assert "活跃时间" in chinese["sentence"]
    assert await person.call("GET", "/alerts?state=resolved") == []
    await person.call("GET", "/alerts?host=nobody", expected=404)
    taken = await person.call("POST", f"/alerts/{alert['id']}/acknowledge")
    assert taken["acknowledged_by"]
    await person.call("POST", "/alerts/nothing/acknowledge", expected=404)
    silence = await person.call("POST", "/silences", {"matchers": ["host=node-*"], "seconds": 60, "reason": "upgrade"})
    assert silence["active"]
    assert (await person.call("GET", "/alerts"))[0]["silenced"]
    await person.call("DELETE", f"/silences/{silence['id']}", expected=204)
    (ended,) = await person.call("GET", "/silences")
    assert not ended["active"]
    await person.call("DELETE", "/silences/nothing", expected=404)
    await person.call("POST", "/silences", {"matchers": ["node-7"], "seconds": 60}, 422)
    await person.call("POST", "/silences", {"matchers": ["host=x"]}, 400)


@pytest.mark.both_engines
async def test_a_preview_says_when_it_would_have_fired(person: Person) -> None:
    """What a preview finds is what the evaluator found, and a rule for longer finds nothing."""
    await person.stage.play(arriving(a_drop()), 190)
    (alert,) = await person.call("GET", "/alerts")
    spec = {"kind": "utilization_drop", "for": "20s", "clear_for": "5s", "warm_up": "30s"}
    span = {"from": str(FROM), "to": str(TO)}
    found = await person.call("POST", "/alert-rules/preview", {"spec": spec, **span})
    assert (found["count"], found["hosts"], found["known"]) == (1, 1, True)
    (fired,) = found["fired"]
    assert (fired["host"], fired["cause"], fired["began"]) == ("node-1", "cpu_preprocess", alert["began"])
    assert fired["ended"] is not None
    longer = await person.call("POST", "/alert-rules/preview", {"spec": {**spec, "for": "2m"}, **span})
    assert longer["count"] == 0
    other = await person.call("POST", "/alert-rules/preview", {"spec": {**spec, "causes": ["no_work"]}, **span})
    assert other["count"] == 0
    holding = {"kind": "cause_holding", "share": 0.5, "for": "0s", "warm_up": "0s"}
    held = await person.call("POST", "/alert-rules/preview", {"spec": holding, **span})
    assert {one["cause"] for one in held["fired"]} == {"cpu_preprocess"}
    silent = await person.call("POST", "/alert-rules/preview", {"spec": {"kind": "agent_silent"}, **span})
    assert (silent["count"], silent["known"]) == (0, False)
    await person.call("POST", "/alert-rules/preview", {"spec": {"kind": "nothing"}, **span}, 422)
