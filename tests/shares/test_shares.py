"""Links to frozen incidents and spans: what they show, whom they ask for a login, and what they never open."""

from __future__ import annotations

import asyncio
import os
import re
from typing import Any

import pytest
from sqlalchemy import delete, func, select

from gapscope_backend.api.route import Access
from gapscope_backend.api.routes import ROUTES
from gapscope_backend.services import shares
from gapscope_backend.services.access import create_token
from gapscope_backend.services.times import iso
from gapscope_backend.store.models import (
    Annotation,
    Chunk,
    Incident,
    IngestHot,
    Pin,
    Share,
    SharePiece,
    Stack,
    StackChunk,
)
from gapscope_backend.store.retention import Retention, delete_old
from gapscope_backend.store.shares import KEPT_AFTER_NS
from tests.incidents.story import START
from tests.shares.conftest import API, OURS, SECOND, Sharing

DAY = 24 * 3600 * SECOND


def at(second: float) -> str:
    return iso(START + round(second * SECOND))


def span(start: float, end: float) -> dict[str, Any]:
    return {"host": "node-1", "from": at(start), "to": at(end)}


def asked_of(incident: str) -> list[str]:
    """What a page asks of a shared incident."""
    span = f"from={at(400)}&to={at(500)}"
    parts = ("series?buckets=5000&", "series?buckets=4&", "ribbon?", "gaps?", "diagnosis?", "flame?", "annotations?")
    return ["", f"/incidents/{incident}", "/hosts/node-1", *(f"/hosts/node-1/{part}{span}" for part in parts)]


async def everything(sharing: Sharing, link: str, *, stranger: bool = False) -> list[Any]:
    told = []
    for path in asked_of(sharing.incident.id):
        status, answer = await sharing.get(f"/shared/{link}{path}", stranger)
        assert status == 200, (path, answer)
        told.append(answer)
    return told


@pytest.mark.both_engines
async def test_a_share_asks_for_a_login_unless_it_is_public(sharing: Sharing) -> None:
    made = await sharing.share(incident=sharing.incident.id, view="tab=flame")
    link = made["link"]
    assert made["path"] == f"/share/{link}"
    assert (made["share"]["state"], made["share"]["public"], made["share"]["host"]) == ("live", False, "node-1")
    view, incident, *_ = await everything(sharing, link)
    assert (view["incident"], view["view"], view["made_by"]) == (sharing.incident.id, "tab=flame", "owner")
    assert incident["summary"]["sentence"] == sharing.incident.sentence
    for path in asked_of(sharing.incident.id):
        assert (await sharing.get(f"/shared/{link}{path}", stranger=True))[0] == 401, path
    public = (await sharing.share(incident=sharing.incident.id, public=True))["link"]
    view, *_ = await everything(sharing, public, stranger=True)
    assert (view["public"], view["made_by"]) == (True, None)


@pytest.mark.both_engines
async def test_nothing_that_happens_later_changes_it(sharing: Sharing) -> None:
    link = (await sharing.share(incident=sharing.incident.id))["link"]
    before = await everything(sharing, link)
    async with sharing.database.write() as session:
        for model in (Incident, Pin, Chunk, IngestHot, StackChunk, Stack, Annotation):
            await session.execute(delete(model))
    await sharing.shares.close()
    assert await everything(sharing, link) == before
    assert (await sharing.get(f"/incidents/{sharing.incident.id}"))[0] == 404


async def test_it_says_what_the_incident_itself_says(sharing: Sharing) -> None:
    link = (await sharing.share(incident=sharing.incident.id))["link"]
    for path in asked_of(sharing.incident.id)[1:]:
        if path != "/hosts/node-1":
            assert (await sharing.get(f"/shared/{link}{path}"))[1] == (await sharing.get(path))[1], path


def refused_address(path: str, link: str, incident: str) -> str:
    names = {"link": "0" * 40, "host": "node-1", "incident": incident, "name": "favicon.svg", "job": "node-1:100"}
    return re.sub(r"\{(\w+)[^}]*\}", lambda found: names.get(found[1], link), path)


async def test_a_public_link_opens_no_other_route(sharing: Sharing) -> None:
    link = (await sharing.share(incident=sharing.incident.id, public=True))["link"]
    walked = 0
    for route in ROUTES:
        if route.access in (Access.PUBLIC, Access.SHARE):
            continue
        address = refused_address(route.path, link, sharing.incident.id)
        for tries in (
            {"headers": {**OURS, "Authorization": f"Bearer {link}"}},
            {"headers": {**OURS, "Cookie": f"gapscope_session_{link}={link}"}},
            {"headers": {**OURS, "Referer": f"http://localhost/share/{link}"}, "params": {"link": link}},
        ):
            response = await sharing.stranger.request(route.method, address, **tries)
            assert response.status == 401, (route.method, address, tries)
            walked += 1
    assert walked > 60


async def test_a_public_link_shows_one_host_and_one_incident(sharing: Sharing) -> None:
    link = (await sharing.share(incident=sharing.incident.id, public=True))["link"]
    assert (await sharing.get("/hosts/node-2"))[0] == 200
    for path in (
        "/hosts/node-2",
        "/hosts/node-2/series",
        "/incidents/other",
        "/hosts",
        "/hosts/node-1/export",
        "/shares",
        f"/incidents/{sharing.incident.id}/file",
    ):
        assert (await sharing.get(f"/shared/{link}{path}", stranger=True))[0] == 404, path
    for method in ("POST", "DELETE", "PUT"):
        for path in ("", f"/incidents/{sharing.incident.id}", "/hosts/node-1/annotations"):
            response = await sharing.stranger.request(method, f"{API}/shared/{link}{path}", headers=OURS)
            assert response.status == 405, (method, path)


def values_of(answer: Any) -> list[float]:
    """Times at which a series answer has a value."""
    return [
        time
        for series in answer["series"]
        for time, value in zip(series["time_ms"], series["mean"], strict=True)
        if value is not None
    ]


@pytest.mark.both_engines
async def test_a_shared_span_tells_nothing_before_or_after_it(sharing: Sharing) -> None:
    link = (await sharing.share(**span(418, 470), public=True))["link"]
    whole = f"from={at(0)}&to={at(1080)}"
    first, last = START / 1e6 + 418_000, START / 1e6 + 470_000
    for buckets, room in ((5000, 0), (1000, 0), (8, 300_000)):
        path = f"/hosts/node-1/series?{whole}&buckets={buckets}"
        everywhere = values_of((await sharing.get(path))[1])
        assert min(everywhere) < first - room
        assert max(everywhere) > last + room
        times = values_of((await sharing.get(f"/shared/{link}{path}", stranger=True))[1])
        assert min(times) > first - room - 1, buckets
        assert max(times) < last + room, buckets
    for path, many in (("flame", "samples"), ("gaps", "total")):
        inside = (await sharing.get(f"/hosts/node-1/{path}?from={at(418)}&to={at(470)}"))[1][many]
        told = (await sharing.get(f"/shared/{link}/hosts/node-1/{path}?{whole}", stranger=True))[1][many]
        assert told == inside > 0, path
    notes = (await sharing.get(f"/shared/{link}/hosts/node-1/annotations?{whole}", stranger=True))[1]
    assert [(note["text"], note["made_by"]) for note in notes] == [("in", "")]
    host = (await sharing.get(f"/shared/{link}/hosts/node-1", stranger=True))[1]
    assert (host["first_data"], host["last_data"], host["recorded"]) == (at(418), at(470), False)


async def test_what_people_say_is_in_no_public_link(sharing: Sharing) -> None:
    path = f"{API}/incidents/{sharing.incident.id}"
    for action, body in (("comment", {"text": "ask ann"}), ("assign", {"to": "bob"}), ("acknowledge", {})):
        assert (await sharing.client.post(f"{path}/{action}", json=body, headers=OURS)).status == 200
    for public, comments in ((True, []), (False, ["ask ann"])):
        link = (await sharing.share(incident=sharing.incident.id, public=public))["link"]
        told = (await sharing.get(f"/shared/{link}/incidents/{sharing.incident.id}"))[1]
        assert [comment["text"] for comment in told["comments"]] == comments
        assert [change["to"] for change in told["assignments"]] == ([] if public else ["bob"])
        summary = told["summary"]
        assert (summary["assigned_to"], summary["acknowledged_by"]) == (("", "") if public else ("bob", "owner"))


@pytest.mark.both_engines
@pytest.mark.parametrize("public", [False, True])
async def test_an_expired_link_is_gone(sharing: Sharing, public: bool) -> None:
    link = (await sharing.share(incident=sharing.incident.id, public=public, days=2))["link"]
    sharing.clock.now_ns += 2 * DAY - SECOND
    assert (await sharing.get(f"/shared/{link}", stranger=True))[0] == (200 if public else 401)
    sharing.clock.now_ns += SECOND
    status, problem = await sharing.get(f"/shared/{link}", stranger=True)
    assert (status, problem["error"]) == (410, "gone")
    assert "expired" in problem["detail"]
    assert (await sharing.stranger.get(f"/share/{link}")).status == 410
    await delete_old(sharing.database, Retention(), sharing.clock())
    assert await count(sharing, SharePiece) == 0
    assert (await sharing.get(f"/shared/{link}", stranger=True))[0] == 410
    await delete_old(sharing.database, Retention(), sharing.clock() + KEPT_AFTER_NS + SECOND)
    assert (await sharing.get(f"/shared/{link}", stranger=True))[0] == 404


async def count(sharing: Sharing, model: type[Share] | type[SharePiece]) -> int:
    async with sharing.database.read() as session:
        return await session.scalar(select(func.count()).select_from(model)) or 0


@pytest.mark.both_engines
async def test_a_revoked_link_is_gone_at_once(sharing: Sharing) -> None:
    made = await sharing.share(incident=sharing.incident.id, public=True)
    link, share = made["link"], made["share"]
    assert (await sharing.get(f"/shared/{link}/hosts/node-1", stranger=True))[0] == 200
    assert (await sharing.stranger.delete(f"{API}/shares/{share['id']}", headers=OURS)).status == 401
    for _ in range(2):
        assert (await sharing.client.delete(f"{API}/shares/{share['id']}", headers=OURS)).status == 204
    assert not [name for name in os.listdir(sharing.folder) if name.startswith("share-")]
    for path in ("", "/hosts/node-1"):
        status, problem = await sharing.get(f"/shared/{link}{path}", stranger=True)
        assert (status, "revoked" in problem["detail"]) == (410, True)
    page = await sharing.stranger.get(f"/share/{link}")
    assert (page.status, page.content_type) == (410, "text/html")
    assert await count(sharing, SharePiece) == 0
    [listed] = (await sharing.get(f"/shares?incident={sharing.incident.id}"))[1]
    assert (listed["id"], listed["state"], listed["made_by"]) == (share["id"], "revoked", "owner")
    assert (await sharing.client.delete(f"{API}/shares/none", headers=OURS)).status == 404


async def test_an_unknown_link_is_not_found(sharing: Sharing) -> None:
    link = (await sharing.share(incident=sharing.incident.id, public=True))["link"]
    for wrong in (link[:-1], link[:-1] + ("1" if link[-1] == "0" else "0"), "x", "%ff"):
        assert (await sharing.get(f"/shared/{wrong}", stranger=True))[0] == 404, wrong
        page = await sharing.stranger.get(f"/share/{wrong}")
        assert (page.status, page.content_type) == (404, "text/html")
    assert (await sharing.stranger.get(f"/share/{link}")).status == 200


async def test_the_secret_is_stored_nowhere(sharing: Sharing) -> None:
    made = await sharing.share(incident=sharing.incident.id, public=True)
    assert re.fullmatch(r"[0-9a-f]{40}", made["link"])
    async with sharing.database.read() as session:
        share = (await session.scalars(select(Share))).one()
        held = [getattr(share, column.key) for column in Share.__table__.columns]
    assert made["link"] not in map(str, held)
    assert made["link"] not in str((await sharing.get("/shares"))[1])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"incident": "none"}, 404),
        ({"host": "node-1"}, 400),
        ({"incident": "x", "host": "node-1"}, 400),
        ({"host": "node-9", "from": at(0), "to": at(10)}, 404),
        ({"host": "node-1", "from": at(-100), "to": at(-10)}, 422),
        ({"host": "node-1", "from": at(10), "to": at(10)}, 400),
        ({"host": "node-1", "from": at(0), "to": at(60), "public": True, "days": 91}, 400),
        ({"host": "node-1", "from": at(0), "to": at(60), "days": 0}, 400),
        ({"host": "node-1", "from": at(0), "to": at(60), "view": "x" * 2001}, 400),
        ({"host": "node-1", "from": at(0), "to": at(60), "secret": 1}, 400),
    ],
)
async def test_a_share_that_cannot_be_made(sharing: Sharing, body: dict[str, Any], status: int) -> None:
    problem = await sharing.share(status, **body)
    assert problem["detail"]
    assert await count(sharing, Share) == 0


async def test_too_much_for_a_share(sharing: Sharing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "MAX_BYTES", 1000)
    problem = await sharing.share(422, incident=sharing.incident.id)
    assert "shorter" in problem["detail"]
    monkeypatch.setattr(shares, "MAX_SPAN_NS", 30 * SECOND)
    problem = await sharing.share(422, host="node-1", **{"from": at(0), "to": at(31)})
    assert "six hours" in problem["detail"]
    assert await count(sharing, Share) == await count(sharing, SharePiece) == 0


async def test_a_program_lists_shares_and_makes_none(sharing: Sharing) -> None:
    token = await create_token(sharing.database, "read", "*", "reader", sharing.clock())
    headers = {"Authorization": f"Bearer {token}"}
    link = (await sharing.share(incident=sharing.incident.id))["link"]
    response = await sharing.stranger.get(f"{API}/shares?host=node-1", headers=headers)
    assert len(await response.json()) == 1
    assert (await sharing.stranger.post(f"{API}/shares", json={}, headers=headers)).status == 401
    assert (await sharing.stranger.get(f"{API}/shared/{link}", headers=headers)).status == 200


async def test_only_some_stay_open_and_no_file_is_left(sharing: Sharing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "OPEN_AT_ONCE", 2)
    links = [(await sharing.share(**span(430, 432)))["link"] for _ in range(4)]
    for link in [*links, *links]:
        assert (await sharing.get(f"/shared/{link}"))[0] == 200
    assert len([name for name in os.listdir(sharing.folder) if name.startswith("share-")]) == 2
    await sharing.shares.close()
    assert not [name for name in os.listdir(sharing.folder) if name.startswith("share-")]


async def test_many_who_open_a_link_at_once(sharing: Sharing, monkeypatch: pytest.MonkeyPatch) -> None:
    link = (await sharing.share(**span(430, 440), public=True))["link"]
    paths = [f"/shared/{link}/hosts/node-1/gaps?from={at(430)}&to={at(440)}"] * 12
    assert {status for status, _ in await asyncio.gather(*(sharing.get(path, True) for path in paths))} == {200}
    assert len([name for name in os.listdir(sharing.folder) if name.startswith("share-")]) == 1
    monkeypatch.setattr(shares, "MOST_WAITING", 0)
    status, problem = await sharing.get(paths[0], stranger=True)
    assert (status, problem["error"]) == (503, "busy")
