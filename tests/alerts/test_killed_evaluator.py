"""The real server, killed without warning while an alert waits, fires and ends: told once each, under one id."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gapscope_backend.services import admin
from gapscope_backend.store.alert_models import Channel
from gapscope_backend.store.database import open_database
from tests.incidents.test_killed_server import STEP_SECONDS, STEPS, YEAR_NS, Server
from tests.incidents.watching import DEMO, recorded_batches

RULES = '[rules.gpu-drop]\nfor = "12s"\nclear_for = "1s"\nwarm_up = "0s"\ngroup_interval = "0s"\n'


class AlertServer(Server):
    """With a file of rules, which the folder's configuration names."""

    async def start(self) -> None:
        config = self.data / "server.toml"
        config.write_text(f'[server]\nalerts = "{self.data}/alerts.toml"\npublic_url = "https://gapscope.example"\n')
        (self.data / "alerts.toml").write_text(RULES)
        await super().start()

    def words(self) -> tuple[str, ...]:
        return ("--config", str(self.data / "server.toml"))

    async def get(self, path: str) -> Any:
        headers = {"Authorization": f"Bearer {self.read}"}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.get(f"{self.address}/api/v1{path}") as answer,
        ):
            assert answer.status == 200, await answer.text()
            return await answer.json()

    async def until(self, path: str, key: str, value: str) -> list[dict[str, Any]]:
        """Ask until one of a list says so."""
        found: list[dict[str, Any]] = []
        for _ in range(STEPS):
            found = await self.get(path)
            if any(one[key] == value for one in found):
                return found
            await asyncio.sleep(STEP_SECONDS)
        raise AssertionError(f"no {key} of {path} is {value}: {found}")


async def add_channel(data: Path) -> None:
    """One that goes nowhere: what is told is a row before it is sent."""
    database = await open_database(admin.database_url(data))
    async with database.write() as session:
        session.add(Channel(id="ops", kind="webhook", name="", settings={"url": "https://127.0.0.1:1/"}, secrets=[],
                            enabled=True, origin="api", revision=1, updated_ns=1))  # fmt: skip
    await database.close()


async def test_kills_lose_and_double_no_alert(tmp_path: Path) -> None:
    write = await admin.create_token(admin.database_url(tmp_path), "ingest", "demo", "test")
    read = await admin.create_token(admin.database_url(tmp_path), "read", "*", "test")
    await add_channel(tmp_path)
    server = AlertServer(tmp_path, write, read)
    batches = recorded_batches(DEMO, "demo", -YEAR_NS)  # no server takes them for the future
    await server.start()
    try:
        await server.send(batches[:7])
        await server.kill()
        await server.start()
        (fired,) = await server.until("/alerts?rule=gpu-drop", "state", "firing")
        await server.kill()
        await server.start()
        (told,) = await server.until("/deliveries", "kind", "firing")
        await server.kill()
        await server.start()
        await server.send(batches[7:])
        await server.kill()
        await server.start()
        await server.until("/alerts?rule=gpu-drop", "state", "resolved")
        await server.kill()
        await server.start()
        deliveries = await server.until("/deliveries", "kind", "resolved")
        alerts = await server.get("/alerts?rule=gpu-drop")
    finally:
        await server.kill()
    assert [(alert["id"], alert["state"]) for alert in alerts] == [(fired["id"], "resolved")]
    assert sorted(one["kind"] for one in deliveries) == ["firing", "resolved"]
    assert told["id"] in {one["id"] for one in deliveries}
    assert alerts[0]["cause"] == "cpu_preprocess"
    assert alerts[0]["began"] == fired["began"]


@pytest.mark.parametrize("text", ['[rules.x]\nkind = "nothing"\n', "no toml ["])
def test_a_server_does_not_start_with_faulty_rules(tmp_path: Path, text: str) -> None:
    (tmp_path / "alerts.toml").write_text(text)
    words = ["server", "--data", str(tmp_path), "--port", "0", "--alerts", str(tmp_path / "alerts.toml")]
    done = subprocess.run(
        [sys.executable, "-m", "gapscope_backend.cli.main", *words], capture_output=True, text=True, timeout=100
    )
    assert done.returncode != 0
    assert "alerts.toml:" in done.stderr
