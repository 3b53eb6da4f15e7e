"""Channels and the log over the API: what is refused, what is told once, what is never told."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestClient, TestServer
from sqlalchemy.exc import DBAPIError

from gapscope_backend.alerts.addresses import read_allow_list
from gapscope_backend.alerts.delivery import Deliveries
from gapscope_backend.alerts.signing import PREFIX, new_secret, verify
from gapscope_backend.api.app import create_app
from gapscope_backend.api.config import ServerConfig
from gapscope_backend.services import access
from gapscope_backend.store.database import Database
from tests.backend.batches import Clock
from tests.delivery.conftest import EGRESS
from tests.delivery.listening import Listener, answer, listening
from tests.delivery.messages import NOW, SECOND, channel, delivery

API = "/api/v1"
OURS = {"Sec-Fetch-Site": "same-origin"}


@dataclass
class Admin:
    """Somebody who is logged in, and all that the server has answered."""

    client: TestClient[Any, Any]
    database: Database
    clock: Clock
    token: str
    answers: list[str]

    async def call(self, method: str, path: str, body: Any = None, expected: int = 200) -> Any:
        response = await self.client.request(method, f"{API}{path}", json=body, headers=OURS)
        text = await response.text()
        self.answers.append(text)
        assert response.status == expected, text
        return json.loads(text) if text else None

    async def put(self, channel: str = "ops", expected: int = 200, **body: Any) -> Any:
        return await self.call("PUT", f"/channels/{channel}", body, expected)


@pytest.fixture
async def admin(tmp_path: Path, database: Database) -> AsyncIterator[Admin]:
    clock = Clock(NOW)
    (tmp_path / "index.html").write_text("<!doctype html><title>Gapscope</title>")
    config = ServerConfig(data_dir=tmp_path, static_dir=tmp_path, webhook_allow=read_allow_list(["127.0.0.1"]))
    server = TestServer(create_app(config, database, clock, clock.monotonic))
    await server.start_server(auto_decompress=False)
    client = TestClient(server, cookie_jar=aiohttp.CookieJar(unsafe=True))
    login = await access.create_login(database, clock())
    assert (await client.post(f"{API}/login", json={"token": login}, headers=OURS)).status == 200
    token = await access.create_token(database, "read", "*", "reader", clock())
    yield Admin(client, database, clock, token, [])
    await client.close()


async def test_a_secret_is_told_once_and_nothing_secret_ever_again(
    admin: Admin, listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)  # as the server logs
    url = f"{listener.url}/SECRETPATH0123456789?key=SECRETQUERY"
    made = await admin.put(kind="webhook", url=url, name="Operations", headers={"Authorization": "Bearer SECRETHEADER"})
    secret = made["secret"]
    assert secret.startswith(PREFIX)
    assert made["channel"]["url"] == f"http://127.0.0.1:{listener.port}/…UERY"
    assert made["channel"]["header_names"] == ["Authorization"]
    listener.replies = [answer(400, f"no: {url} {secret} SECRETHEADER".encode()), answer(200)]
    admin.answers.clear()
    await admin.call("POST", "/channels/ops/test")
    changed = await admin.put(kind="webhook", name="Ops")
    assert (changed["secret"], changed["channel"]["name"], changed["channel"]["revision"]) == (None, "Ops", 2)
    await admin.call("GET", "/channels")
    (row,) = await admin.call("GET", "/deliveries")
    await admin.call("GET", f"/deliveries/{row['id']}")
    rotated = (await admin.call("POST", "/channels/ops/secret"))["secret"]
    assert rotated not in (None, secret)
    told = "\n".join(text for text in admin.answers if rotated not in text) + caplog.text
    for part in (secret, secret.removeprefix(PREFIX), rotated, "SECRETPATH", "SECRETQUERY", "SECRETHEADER"):
        assert part not in told, part
    assert listener.requests[0].path.endswith("SECRETPATH0123456789?key=SECRETQUERY")


@pytest.mark.both_engines
async def test_a_failing_database_logs_no_secret(
    database: Database, listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    """The statement is logged, what would have been written is not."""

    async def add() -> None:
        async with database.write() as session:
            session.add(channel("webhook", listener.url, id="x", secrets=["whsec_SECRET"]))

    await add()
    with pytest.raises(DBAPIError) as caught:
        await add()
    assert "INSERT INTO channel" in str(caught.value)
    assert "SECRET" not in str(caught.value) + caplog.text


async def test_both_secrets_sign_until_the_old_one_is_dropped(admin: Admin, listener: Listener) -> None:
    first = (await admin.put(kind="webhook", url=listener.url))["secret"]
    second = (await admin.call("POST", "/channels/ops/secret"))["secret"]
    await admin.call("POST", "/channels/ops/test")
    (channel,) = await admin.call("GET", "/channels")
    assert channel["secrets"] == 2
    await admin.call("DELETE", "/channels/ops/old-secret", expected=204)
    await admin.call("POST", "/channels/ops/test")
    both, one = listener.requests
    for secret, request, good in ((first, both, True), (second, both, True), (first, one, False), (second, one, True)):
        assert verify([secret], request.headers, request.body, NOW / SECOND) is good


async def test_a_test_tells_how_it_went(admin: Admin, listener: Listener) -> None:
    await admin.put(kind="webhook", url=listener.url, enabled=False, language="zh-Hans")
    listener.replies = [answer(200), answer(500, b"broken")]
    good, bad = [await admin.call("POST", "/channels/ops/test") for _ in range(2)]
    assert (good["state"], good["kind"], good["attempts"], good["log"][0]["status"]) == ("delivered", "test", 1, 200)
    assert (bad["state"], bad["log"][0]["error"]) == ("failed", "answered 500: broken")
    assert json.loads(listener.requests[0].body)["type"] == "gapscope.test"
    assert json.loads(listener.requests[0].body)["data"]["link"] == str(admin.client.make_url("/").origin())
    assert "测试" in json.loads(listener.requests[0].body)["data"]["sentence"]
    (channel,) = await admin.call("GET", "/channels")
    assert channel["last"]["id"] in (good["id"], bad["id"])
    await admin.call("POST", "/channels/none/test", expected=404)


async def test_a_message_is_sent_again_under_its_id(admin: Admin, listener: Listener) -> None:
    await admin.put(kind="webhook", url=listener.url)
    row = delivery(created_ns=NOW, due_ns=NOW)
    worker = Deliveries(admin.database, EGRESS, admin.clock, admin.clock.monotonic)

    async def work() -> None:
        await worker.tick()
        await worker.settle()

    async with admin.database.write() as session:
        session.add(row)
    refused = await admin.call("POST", f"/deliveries/{row.id}/resend", expected=422)
    assert "still being tried" in refused["detail"]
    await work()
    again = await admin.call("POST", f"/deliveries/{row.id}/resend")
    assert (again["state"], again["resend_of"], again["message_id"]) == ("pending", row.id, row.id)
    admin.clock.advance(1)
    await work()
    third = await admin.call("POST", f"/deliveries/{again['id']}/resend")
    assert third["message_id"] == row.id
    await work()
    assert listener.ids == [row.id] * 3
    listed = await admin.call("GET", "/deliveries?state=delivered&channel=ops&kind=firing")
    assert {one["id"] for one in listed} == {row.id, again["id"], third["id"]}
    detail = await admin.call("GET", f"/deliveries/{row.id}")
    assert detail["message"]["sentence"].startswith("GPU 0 waited 71%")
    await admin.call("POST", "/deliveries/msg_none/resend", expected=404)


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"kind": "webhook"}, "url"),
        ({"kind": "webhook", "url": "https://127.0.0.2/x"}, "url"),
        ({"kind": "webhook", "url": "https://localhost6.invalid/x"}, "url"),
        ({"kind": "webhook", "url": "http://8.8.8.8/x"}, "url"),
        ({"kind": "webhook", "url": "file:///etc/passwd"}, "url"),
        ({"kind": "webhook", "url": "https://10.0.0.1/", "enabled": False}, "url"),
        ({"kind": "pagerduty", "url": "https://10.0.0.1/", "secret": "R" * 32}, "url"),
        ({"kind": "alertmanager", "url": "http://169.254.169.254/"}, "url"),
        ({"kind": "slack", "url": "https://8.8.8.8/x", "secret": "x" * 10}, "secret"),
        ({"kind": "slack", "url": "https://8.8.8.8/x", "headers": {"A": "b"}}, "headers"),
        ({"kind": "slack", "url": "https://8.8.8.8/x", "heartbeat_seconds": 60}, "heartbeat_seconds"),
        ({"kind": "webhook", "url": "https://8.8.8.8/x", "heartbeat_seconds": 5}, "heartbeat_seconds"),
        ({"kind": "webhook", "url": "https://8.8.8.8/x", "headers": {"Host": "b"}}, "headers"),
        ({"kind": "webhook", "url": "https://8.8.8.8/x", "headers": {"Webhook-Id": "b"}}, "headers"),
        ({"kind": "webhook", "url": "https://8.8.8.8/x", "headers": {"A\r\nB": "b"}}, "headers"),
        ({"kind": "webhook", "url": "https://8.8.8.8/x", "headers": {"A": "b\r\nC: d"}}, "headers"),
        ({"kind": "pagerduty"}, "secret"),
        ({"kind": "feishu", "url": "https://8.8.8.8/x", "secret": "with a blank"}, "secret"),
    ],
)
async def test_what_a_channel_cannot_be_is_refused_and_not_kept(admin: Admin, body: Any, where: str) -> None:
    refused = await admin.put(expected=422, **body)
    assert refused["where"] == where
    assert await admin.call("GET", "/channels") == []


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "email", "url": "https://8.8.8.8/"},
        {"kind": "webhook", "url": "https://8.8.8.8/", "secret": "whsec_short"},
        {"kind": "webhook", "url": "https://8.8.8.8/", "more": 1},
        {"kind": "webhook", "url": "x" * 3000},
        [],
        None,
    ],
)
async def test_a_malformed_channel_is_refused(admin: Admin, body: Any) -> None:
    await admin.call("PUT", "/channels/ops", body, 400)


@pytest.mark.parametrize("channel", ["UPPER", "a b", "-x", "x" * 65, "ä"])
async def test_a_malformed_id_is_refused(admin: Admin, channel: str, listener: Listener) -> None:
    await admin.put(channel, 400, kind="webhook", url=listener.url)


async def test_a_kind_stays_and_given_secrets_come_from_the_target(admin: Admin, listener: Listener) -> None:
    own = new_secret()
    assert (await admin.put(kind="webhook", url=listener.url, secret=own))["secret"] is None
    await admin.put(kind="slack", url=listener.url, expected=422)
    await admin.put("pager", kind="pagerduty", url=listener.url, secret="R" * 32)
    assert "give it" in (await admin.call("POST", "/channels/pager/secret", expected=422))["detail"]
    assert (await admin.call("POST", "/channels/pager/secret", {"secret": "S" * 32}))["secret"] is None
    await admin.call("POST", "/channels/pager/test")
    assert json.loads(listener.requests[-1].body)["routing_key"] == "S" * 32
    await admin.put("chat", kind="slack", url=listener.url)
    await admin.call("POST", "/channels/chat/secret", expected=422)


async def test_headers_and_secrets_of_one_host_go_to_no_other(admin: Admin, listener: Listener) -> None:
    await admin.put(kind="webhook", url=listener.url, headers={"Authorization": "Bearer x"})
    await admin.put("pager", kind="pagerduty", url=listener.url, secret="R" * 32)
    async with listening() as other:
        moved = await admin.put(kind="webhook", url=other.url, expected=422)
        assert moved["where"] == "headers"
        moved = await admin.put("pager", kind="pagerduty", url=other.url, expected=422)
        assert moved["where"] == "secret"
        await admin.put(kind="webhook", url=f"{listener.url}/other")
        await admin.put(kind="webhook", url=other.url, headers={})
        await admin.call("POST", "/channels/ops/test")
        assert "authorization" not in other.requests[0].headers


async def test_a_deleted_channel_is_gone(admin: Admin, listener: Listener) -> None:
    await admin.put(kind="webhook", url=listener.url)
    await admin.call("DELETE", "/channels/ops", expected=204)
    await admin.call("DELETE", "/channels/ops", expected=404)
    await admin.call("POST", "/channels/ops/secret", expected=404)
    await admin.call("DELETE", "/channels/ops/old-secret", expected=404)


async def test_tokens_read_and_change_nothing(admin: Admin, listener: Listener) -> None:
    await admin.put(kind="webhook", url=listener.url)
    headers = {"Authorization": f"Bearer {admin.token}"}
    async with aiohttp.ClientSession(headers=headers) as reader:
        base = f"http://{admin.client.host}:{admin.client.port}{API}"
        for path, status in (("/channels", 200), ("/deliveries", 200)):
            async with reader.get(base + path) as response:
                assert response.status == status
        for path in ("/channels/ops/test", "/channels/ops/secret", "/deliveries/msg_1/resend"):
            async with reader.post(base + path) as response:
                assert response.status == 401
    await asyncio.sleep(0)
    assert listener.connections == 0
