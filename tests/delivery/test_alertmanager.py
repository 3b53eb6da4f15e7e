"""A real Alertmanager (Debian's package): it accepts our alerts, shows them, and lets them go when they are over."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gapscope_backend.alerts.own_messages import message_of_heartbeat, message_of_test
from tests.delivery.conftest import Outbox
from tests.delivery.messages import alert_line, channel, delivery, message, nasty, resolved

PROGRAM = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
AMTOOL = shutil.which("amtool")
CONFIG = "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"
START_SECONDS = 60.0
SECOND = 10**9

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs Alertmanager: apt-get install prometheus-alertmanager")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address."""
    folder, port = tmp_path_factory.mktemp("alertmanager"), free_port()
    (folder / "config.yml").write_text(CONFIG)
    words = (f"--config.file={folder / 'config.yml'}", f"--storage.path={folder / 'data'}", "--cluster.listen-address=")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(PROGRAM), *words, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log
        )
    try:
        _await_port(port, process, folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _await_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError(log.read_text())


async def shown(address: str, **labels: str) -> list[dict[str, Any]]:
    """Alerts that it shows, with these labels."""
    query = "&".join(f'filter={name}="{value}"' for name, value in labels.items())
    async with aiohttp.ClientSession() as session, session.get(f"{address}/api/v2/alerts?{query}") as answer:
        assert answer.status == 200, await answer.text()
        found: list[dict[str, Any]] = await answer.json()
        return found


async def send(outbox: Outbox, address: str, row: Any, **settings: Any) -> None:
    """Deliver a row to it, on today's clock: it forgets what is over."""
    outbox.clock.now_ns = row.created_ns
    async with outbox.database.write() as session:
        await session.merge(channel("alertmanager", address, id=row.channel_id, settings=settings))
    await outbox.put(row)
    await outbox.tick()
    held = await outbox.row(row)
    assert held.state == "delivered", held.log


async def test_alerts_are_shown_until_they_are_over(outbox: Outbox, alertmanager: str) -> None:
    now_ns = time.time_ns()
    lines = [alert_line(subject=f"gpu:{gpu}", began_ns=now_ns - 60 * SECOND) for gpu in range(3)]
    firing = message(alerts=lines, count=3, started_ns=now_ns - 60 * SECOND)
    await send(outbox, alertmanager, delivery(1, firing, channel_id="am", created_ns=now_ns, due_ns=now_ns))
    found = await shown(alertmanager, alertname="utilization-drop", host="node-7", team="vision")
    assert {alert["labels"]["subject"] for alert in found} == {"gpu:0", "gpu:1", "gpu:2"}
    assert {alert["status"]["state"] for alert in found} == {"active"}
    assert found[0]["generatorURL"] == firing.link
    assert "decode (pipeline/images.py:118)" in found[0]["annotations"]["description"]
    if AMTOOL:
        words = [AMTOOL, f"--alertmanager.url={alertmanager}", "alert", "query", "host=node-7", "--output=json"]
        told = await asyncio.to_thread(subprocess.run, words, capture_output=True, text=True, check=True)
        assert len(json.loads(told.stdout)) == 3
    later_ns = now_ns + SECOND
    lines[0] = alert_line(subject="gpu:0", began_ns=now_ns - 60 * SECOND, state="resolved", ended_ns=now_ns - SECOND)
    some = message(alerts=lines, count=3, started_ns=now_ns - 60 * SECOND)
    await send(outbox, alertmanager, delivery(2, some, channel_id="am", created_ns=later_ns, due_ns=later_ns))
    found = await shown(alertmanager, alertname="utilization-drop", host="node-7")
    assert {alert["labels"]["subject"] for alert in found} == {"gpu:1", "gpu:2"}
    last_ns = later_ns + SECOND
    over = [
        alert_line(subject=f"gpu:{gpu}", began_ns=now_ns - 60 * SECOND, state="resolved", ended_ns=now_ns - SECOND)
        for gpu in range(3)
    ]
    done = resolved(alerts=over, count=3)
    await send(outbox, alertmanager, delivery(3, done, channel_id="am", created_ns=last_ns, due_ns=last_ns))
    assert await shown(alertmanager, alertname="utilization-drop", host="node-7") == []


async def test_it_takes_whatever_names_hold(outbox: Outbox, alertmanager: str) -> None:
    now_ns = time.time_ns()
    evil = nasty()
    evil.rule = evil.group_key = "evil"
    await send(outbox, alertmanager, delivery(4, evil, channel_id="evil", created_ns=now_ns, due_ns=now_ns))
    assert len(await shown(alertmanager, alertname="evil")) == 1


@pytest.mark.parametrize("language", ["en", "zh-Hans"])
async def test_it_shows_tests_and_heartbeats(outbox: Outbox, alertmanager: str, language: str) -> None:
    now_ns = time.time_ns()
    told = channel("alertmanager", alertmanager, id=f"am-{language}", settings={"language": language})
    test = message_of_test(told, "https://gapscope.example", now_ns, now_ns)
    test.attempts = 0
    await send(outbox, alertmanager, test, language=language)
    beat = message_of_heartbeat(told, 60, now_ns + SECOND)
    await send(outbox, alertmanager, beat, language=language, heartbeat_seconds=60)
    for name in ("GapscopeTest", "GapscopeHeartbeat"):
        (alert,) = await shown(alertmanager, alertname=name, channel=told.id)
        assert "Gapscope" in alert["annotations"]["summary"]
