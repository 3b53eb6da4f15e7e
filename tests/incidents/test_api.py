"""Incidents over HTTP: lists and filters, one whole, acknowledging and commenting as a person only."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp.test_utils import TestClient, TestServer
from sqlalchemy import select

from gapscope_backend.analysis.language import from_message, rendered
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.api.app import create_app
from gapscope_backend.api.config import ServerConfig
from gapscope_backend.services import access
from gapscope_backend.services.times import iso
from gapscope_backend.store.database import Database, connect, sqlite_url
from gapscope_backend.store.models import Incident
from tests.backend.batches import SECOND, Clock
from tests.backend.running import Backend
from tests.incidents.story import START, Story, batches
from tests.incidents.watching import Watching

OURS = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def analyse() -> Story:
    return Story()


@pytest.fixture(scope="session")
def told_file(tmp_path_factory: pytest.TempPathFactory, empty_file: Path) -> Path:
    """A database with one closed and one open incident; tests work on copies."""
    path = tmp_path_factory.mktemp("told") / "gapscope.db"
    shutil.copy(empty_file, path)

    async def make() -> None:
        database = connect(sqlite_url(path))
        watching = Watching(database, Clock(0), Story())
        await watching.deliver(batches((30, 0.9), (30, 0.02), (30, 0.9), seconds=10))
        await watching.deliver(batches((30, 0.9), (60, 0.02), host="node-2", seconds=10))
        await database.close()

    asyncio.run(make())
    return path


@pytest.fixture
async def database(tmp_path: Path, told_file: Path) -> AsyncIterator[Database]:
    shutil.copy(told_file, tmp_path / "gapscope.db")
    opened = connect(sqlite_url(tmp_path / "gapscope.db"))
    yield opened
    await opened.close()


@pytest.fixture
async def backend(watching: Watching, analyse: Story, tmp_path: Path) -> AsyncIterator[Backend]:
    """A server on that database."""
    watching.clock.now_ns = START + 91 * SECOND
    clock, database = watching.clock, watching.database
    server = TestServer(create_app(ServerConfig(tmp_path), database, clock, clock.monotonic, analyse))
    client = TestClient(server)
    await client.start_server()
    read = await access.create_token(database, "read", "*", "reader", clock())
    yield Backend(client, database, clock, "", read)
    await client.close()


async def get(backend: Backend, path: str, status: int = 200) -> Any:
    response = await backend.client.get(f"/api/v1{path}", headers=backend.read)
    assert response.status == status, await response.text()
    return await response.json()


async def test_the_list_tells_the_newest_first(backend: Backend) -> None:
    found = await get(backend, "/incidents")
    assert sorted((one["host"], one["state"], one["cause"], one["severity"]) for one in found) == [
        ("node-1", "closed", "cpu_preprocess", "minor"),
        ("node-2", "open", "cpu_preprocess", "minor"),
    ]
    closed = next(one for one in found if one["state"] == "closed")
    assert closed["start"] == iso(START + 30 * SECOND)
    assert closed["end"] == iso(START + 60 * SECOND)
    assert (closed["seconds"], closed["end_reason"]) == (30, "recovered")
    assert closed["lost_gpu_seconds"] == pytest.approx(29.4, abs=0.1)
    assert closed["ledger"][0]["cause"] == "cpu_preprocess"
    assert closed["sentence"].startswith("GPU 0 waited 98% of 30 s")


@pytest.mark.parametrize(
    ("query", "hosts"),
    [
        ("host=node-1", {"node-1"}),
        ("state=open", {"node-2"}),
        ("state=closed&host=node-2", set()),
        (f"from={iso(START + 65 * SECOND)}", {"node-2"}),
        (f"to={iso(START + 10 * SECOND)}", set()),
        (f"from={iso(START)}&to={iso(START + 40 * SECOND)}", {"node-1", "node-2"}),
    ],
)
async def test_filters(backend: Backend, query: str, hosts: set[str]) -> None:
    assert {one["host"] for one in await get(backend, f"/incidents?{query}")} == hosts


@pytest.mark.parametrize(
    ("query", "status"),
    [("limit=0", 400), ("state=burning", 400), ("from=yesterday", 400), ("host=node-9", 404), ("colour=red", 400)],
)
async def test_bad_filters_say_why(backend: Backend, query: str, status: int) -> None:
    assert (await get(backend, f"/incidents?{query}", status))["detail"]


async def test_the_limit_keeps_the_newest(backend: Backend) -> None:
    assert len(await get(backend, "/incidents?limit=1")) == 1


async def test_one_incident_is_told_whole(backend: Backend) -> None:
    (summary,) = await get(backend, "/incidents?state=closed")
    detail = await get(backend, f"/incidents/{summary['id']}")
    assert detail["summary"] == summary
    assert detail["episodes"] == [
        {
            "gpu": "gpu:GPU-0",
            "kind": "drop",
            "from_ms": (START + 30 * SECOND) / 1e6,
            "to_ms": (START + 60 * SECOND) / 1e6,
            "ongoing": False,
        }
    ]
    verdict = msgspec.convert(detail["verdict"], Verdict, dec_hook=from_message)
    assert (verdict.start_ns, verdict.end_ns) == (START + 30 * SECOND, START + 60 * SECOND)
    assert detail["spans"][0]["from_ms"] == (START + 30 * SECOND) / 1e6
    assert detail["pinned_until"] > summary["end"]
    await get(backend, "/incidents/0000", status=404)


async def test_a_stored_incident_is_read_in_either_language(backend: Backend) -> None:
    (english,) = await get(backend, "/incidents?state=closed")
    (chinese,) = await get(backend, "/incidents?state=closed&lang=zh-CN")
    assert english["sentence"].startswith("GPU 0 waited 98% of 30 s for CPU work")
    assert chinese["sentence"].startswith("30 秒内，GPU 0 有 98% 的时间在等待供数进程中的 CPU 工作")
    assert (english["ledger"][0]["title"], chinese["ledger"][0]["title"]) == (
        "Waits for CPU work in the feeding process",
        "等待供数进程中的 CPU 工作",
    )
    told = {lang: await get(backend, f"/incidents/{english['id']}?lang={lang}") for lang in ("en", "zh")}
    assert [detail["spans"][0]["text"] for detail in told.values()] == ["idle", "空闲"]
    assert [detail["verdict"]["sentence"] for detail in told.values()] == [english["sentence"], chinese["sentence"]]
    rows = [detail["verdict"]["ledger"][0] for detail in told.values()]
    assert [row["evidence_for"][0]["text"] for row in rows] == ["idle", "空闲"]
    assert rows[1]["title"] == chinese["ledger"][0]["title"]
    assert rows[0]["evidence_for"][0]["signal"] == rows[1]["evidence_for"][0]["signal"]


async def test_an_incident_of_an_older_version_stays_readable(backend: Backend) -> None:
    """Its verdict holds finished sentences instead of messages."""
    (summary,) = await get(backend, "/incidents?state=closed")
    async with backend.database.write() as session:
        row = await session.scalar(select(Incident).where(Incident.id == summary["id"]))
        assert row is not None
        row.verdict = msgspec.json.encode(rendered(msgspec.json.decode(row.verdict), "en"))
        row.spans = [{**span, "text": "idle since"} for span in row.spans]
    for lang in ("en", "zh"):
        detail = await get(backend, f"/incidents/{summary['id']}?lang={lang}")
        assert detail["summary"]["sentence"] == detail["verdict"]["sentence"] == summary["sentence"]
        assert detail["spans"][0]["text"] == "idle since"


@pytest.mark.parametrize("what", ["acknowledge", "comment"])
async def test_a_bad_language_is_told_before_anything_is_written(backend: Backend, what: str) -> None:
    (summary,) = await get(backend, "/incidents?state=open")
    headers = {**await backend.login(), **OURS}
    path = f"/api/v1/incidents/{summary['id']}"
    answer = await backend.client.post(f"{path}/{what}?lang=xx", json={"text": "x"}, headers=headers)
    assert answer.status == 400
    after = await get(backend, f"/incidents/{summary['id']}")
    assert (after["summary"]["acknowledged"], after["comments"]) == (None, [])
    spoken = await backend.client.post(f"{path}/{what}?lang=zh", json={"text": "x"}, headers=headers)
    assert (spoken.status, spoken.headers["Content-Language"]) == (200, "zh-Hans")


async def test_the_fleet_counts_open_incidents(backend: Backend) -> None:
    counts = {host["host"]: host["open_incidents"] for host in await get(backend, "/hosts")}
    assert counts == {"node-1": 0, "node-2": 1}


async def test_a_person_acknowledges_and_comments(backend: Backend) -> None:
    (summary,) = await get(backend, "/incidents?state=open")
    path, cookie = f"/api/v1/incidents/{summary['id']}", await backend.login()
    first = await backend.client.post(f"{path}/acknowledge", headers={**cookie, **OURS})
    assert first.status == 200, await first.text()
    told = (await first.json())["summary"]
    assert (told["acknowledged"], told["acknowledged_by"]) == (iso(backend.clock()), "owner")
    backend.clock.advance(60)
    again = await (await backend.client.post(f"{path}/acknowledge", headers={**cookie, **OURS})).json()
    assert again["summary"]["acknowledged"] == told["acknowledged"]
    for text in ("Moved the decoding.", "<b>better</b>"):
        answer = await backend.client.post(f"{path}/comment", json={"text": text}, headers={**cookie, **OURS})
        assert answer.status == 200
    comments = (await get(backend, f"/incidents/{summary['id']}"))["comments"]
    assert [(one["user"], one["text"]) for one in comments] == [
        ("owner", "Moved the decoding."),
        ("owner", "<b>better</b>"),
    ]


async def test_what_people_said_outlives_an_update(watching: Watching, backend: Backend) -> None:
    (summary,) = await get(backend, "/incidents?state=open")
    cookie = await backend.login()
    path = f"/api/v1/incidents/{summary['id']}"
    await backend.client.post(f"{path}/acknowledge", headers={**cookie, **OURS})
    await backend.client.post(f"{path}/comment", json={"text": "looking"}, headers={**cookie, **OURS})
    await watching.deliver(batches((30, 0.9), (60, 0.02), (30, 0.9), host="node-2", seconds=10)[9:])
    (incident,) = [one for one in await watching.incidents() if one.id == summary["id"]]
    assert (incident.state, incident.acknowledged_by) == ("closed", "owner")
    assert [comment["text"] for comment in incident.comments] == ["looking"]


@pytest.mark.parametrize("what", ["acknowledge", "comment"])
async def test_only_our_own_page_writes(backend: Backend, what: str) -> None:
    (summary,) = await get(backend, "/incidents?state=open")
    path, cookie = f"/api/v1/incidents/{summary['id']}/{what}", await backend.login()
    assert (await backend.client.post(path, json={"text": "x"}, headers=backend.read)).status == 401
    assert (await backend.client.post(path, json={"text": "x"}, headers=cookie)).status == 403
    elsewhere = {**cookie, "Sec-Fetch-Site": "cross-site"}
    assert (await backend.client.post(path, json={"text": "x"}, headers=elsewhere)).status == 403
    missing = "/api/v1/incidents/0000/" + what
    assert (await backend.client.post(missing, json={"text": "x"}, headers={**cookie, **OURS})).status == 404


@pytest.mark.parametrize("body", [b"", b"{}", b'{"text": ""}', b'{"text": 5}', b'{"text": "x", "more": 1}'])
async def test_a_bad_comment_is_refused(backend: Backend, body: bytes) -> None:
    (summary,) = await get(backend, "/incidents?state=open")
    headers = {**await backend.login(), **OURS}
    path = f"/api/v1/incidents/{summary['id']}/comment"
    assert (await backend.client.post(path, data=body, headers=headers)).status == 400


async def test_a_long_comment_is_refused(backend: Backend) -> None:
    (summary,) = await get(backend, "/incidents?state=open")
    headers = {**await backend.login(), **OURS}
    answer = await backend.client.post(
        f"/api/v1/incidents/{summary['id']}/comment", json={"text": "x" * 4001}, headers=headers
    )
    assert answer.status == 400
