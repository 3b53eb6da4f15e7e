"""Who looks after an incident: a name, and every change of it."""

from __future__ import annotations

from typing import Any

import pytest

from gapscope_backend.services.access import create_token
from gapscope_backend.services.times import iso
from gapscope_backend.store.incidents import incident_of, store_incidents
from gapscope_backend.store.models import Incident
from tests.shares.conftest import API, OURS, Sharing


async def assign(sharing: Sharing, body: Any, expected: int = 200) -> Any:
    path = f"{API}/incidents/{sharing.incident.id}/assign"
    response = await sharing.client.post(path, json=body, headers=OURS)
    assert response.status == expected, await response.text()
    return await response.json()


@pytest.mark.both_engines
async def test_each_change_of_who_looks_after_it_stays(sharing: Sharing) -> None:
    first_ns = sharing.clock()
    assert (await assign(sharing, {"to": "  Ann Lee "}))["summary"]["assigned_to"] == "Ann Lee"
    sharing.clock.advance(60)
    await assign(sharing, {"to": "Ann Lee"})
    told = await assign(sharing, {"to": ""})
    assert told["summary"]["assigned_to"] == ""
    assert told["assignments"] == [
        {"time": iso(first_ns), "user": "owner", "to": "Ann Lee"},
        {"time": iso(sharing.clock()), "user": "owner", "to": ""},
    ]
    await assign(sharing, {"to": "Bob"})
    [listed] = (await sharing.get("/incidents"))[1]
    assert listed["assigned_to"] == "Bob"


async def test_a_renewed_incident_keeps_who_looks_after_it(sharing: Sharing) -> None:
    await assign(sharing, {"to": "Ann"})
    values = {column.key: getattr(sharing.incident, column.key) for column in Incident.__table__.columns}
    async with sharing.database.write() as session:
        await store_incidents(session, sharing.database.dialect, [values], [])
    found = await incident_of(sharing.database, sharing.incident.id)
    assert found is not None
    assert [change["to"] for change in found[0].assignments] == ["Ann"]


@pytest.mark.parametrize("body", [{}, {"to": "x" * 101}, {"to": None}, {"to": "a", "more": 1}, []])
async def test_what_is_no_name_is_refused(sharing: Sharing, body: Any) -> None:
    assert "body must be" in (await assign(sharing, body, 400))["detail"]


async def test_only_a_person_assigns(sharing: Sharing) -> None:
    path = f"{API}/incidents/{sharing.incident.id}/assign"
    token = await create_token(sharing.database, "read", "*", "reader", sharing.clock())
    for headers in ({}, {"Authorization": f"Bearer {token}"}):
        response = await sharing.stranger.post(path, json={"to": "Ann"}, headers={**OURS, **headers})
        assert response.status == 401
    missing = await sharing.client.post(f"{API}/incidents/none/assign", json={"to": "Ann"}, headers=OURS)
    assert missing.status == 404
