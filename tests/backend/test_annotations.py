"""Notes on a host's time: written by people, listed by span, forgotten by whoever removes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.backend.batches import NOW, SECOND, TICK, BatchMaker, group
from tests.backend.running import Backend

OURS = {"Sec-Fetch-Site": "same-origin"}
URL = "/api/v1/hosts/node-1/annotations"


@pytest.fixture(autouse=True)
async def host(backend: Backend, maker: BatchMaker) -> None:
    made = group("gpu:GPU-1", NOW - 5 * SECOND, TICK, gpu_power_watts=np.full(50, 100.0))
    await backend.store(maker.make(NOW - 5 * SECOND, NOW, [made]))


async def write(backend: Backend, headers: dict[str, str], **body: Any) -> tuple[int, dict[str, Any]]:
    response = await backend.client.post(URL, json=body, headers={**headers, **OURS})
    return response.status, await response.json()


async def listed(backend: Backend, **query: str) -> list[dict[str, Any]]:
    response = await backend.client.get(URL, params=query, headers=backend.read)
    assert response.status == 200, await response.text()
    return list(await response.json())


async def test_a_note_is_kept_listed_by_its_span_and_removed(backend: Backend) -> None:
    person = await backend.login()
    status, moment = await write(backend, person, at="now-60s", text="v2 rolled out", kind="deploy")
    assert status == 200, moment
    assert (moment["kind"], moment["text"], moment["at_ms"]) == ("deploy", "v2 rolled out", (NOW - 60 * SECOND) / 1e6)
    assert moment["to_ms"] == moment["at_ms"]
    _, span = await write(backend, person, at="now-30s", to="now-10s", text="load test")
    assert [note["id"] for note in await listed(backend)] == [moment["id"], span["id"]]
    assert [note["id"] for note in await listed(backend, **{"from": "now-20s"})] == [span["id"]]
    assert [note["id"] for note in await listed(backend, limit="1")] == [span["id"]]
    gone = await backend.client.delete(f"{URL}/{moment['id']}", headers={**person, **OURS})
    assert gone.status == 204
    assert [note["id"] for note in await listed(backend)] == [span["id"]]
    again = await backend.client.delete(f"{URL}/{moment['id']}", headers={**person, **OURS})
    assert again.status == 404


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"at": "now"}, "text"),
        ({"at": "now", "text": ""}, "text"),
        ({"at": "soon", "text": "x"}, "soon"),
        ({"at": "now", "to": "now-1m", "text": "x"}, "before"),
        ({"at": "now", "text": "x", "kind": "No Kind"}, "kind"),
        ({"at": "now", "text": "x" * 1001}, "text"),
        ({"at": "now", "text": "x", "more": 1}, "more"),
    ],
)
async def test_a_bad_note_is_refused_with_its_reason(backend: Backend, body: dict[str, Any], says: str) -> None:
    status, problem = await write(backend, await backend.login(), **body)
    assert status == 400
    assert says in problem["detail"]
    assert await listed(backend) == []


async def test_only_people_write(backend: Backend) -> None:
    status, _ = await write(backend, backend.read, at="now", text="x")
    assert status == 401
