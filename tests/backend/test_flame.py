"""Flame graphs over HTTP, from what is stored, hot or compacted."""

from __future__ import annotations

import numpy as np
import pytest

from gapscope_agent.wire import WireFrame
from tests.backend.batches import GPU, NOW, SECOND, TICK, BatchMaker, gpu_entity, group
from tests.backend.running import Backend
from tests.store.storing import compact_all

URL = "/api/v1/hosts/node-1/flame"
FRAMES = [[WireFrame("decode", "/srv/app.py", 10), WireFrame("main", "/srv/app.py", 1)],
          [WireFrame("step", "/srv/app.py", 20), WireFrame("main", "/srv/app.py", 1)]]  # fmt: skip


@pytest.fixture(autouse=True)
async def stored(backend: Backend, maker: BatchMaker) -> None:
    for second in range(0, 60, 10):
        begin = NOW - (60 - second) * SECOND
        working = second // 10 % 2
        active = np.full(100, 0.9 if working else 0.0)
        stacks = [(begin + n * TICK, 100, 100, True, FRAMES[working]) for n in range(100)]
        made = group(GPU, begin, TICK, gpu_graphics_active_ratio=active)
        await backend.store(maker.make(begin, begin + 10 * SECOND, [made], entities=[gpu_entity()], stacks=stacks))


@pytest.mark.parametrize("compacted", [False, True])
async def test_gaps_of_what_is_stored(backend: Backend, compacted: bool) -> None:
    if compacted:
        assert await compact_all(backend.database, NOW + 100 * SECOND) == 6
    query = {"from": "now-60s", "where": "gaps", "against": "outside"}
    response = await backend.client.get(URL, params=query, headers=backend.read)
    assert response.status == 200, await response.text()
    flame = await response.json()
    functions = [flame["frames"][frame]["function"] for frame in flame["nodes"]["frame"]]
    totals = dict(zip(functions, zip(flame["nodes"]["total"], flame["nodes"]["other_total"], strict=True), strict=True))
    assert totals["decode"][0] == pytest.approx(300, abs=10)
    assert totals["step"][1] == pytest.approx(300, abs=10)
    assert totals["decode"][1] + totals["step"][0] <= 12
    text = await backend.client.get(URL, params={"from": "now-60s", "format": "collapsed"}, headers=backend.read)
    assert (await text.text()).splitlines() == [
        "main (/srv/app.py:1);decode (/srv/app.py:10) 300",
        "main (/srv/app.py:1);step (/srv/app.py:20) 300",
    ]


@pytest.mark.parametrize(
    ("query", "status", "says"),
    [
        ({"where": "here"}, 400, "where"),
        ({"gpu": "3"}, 404, "there is: 0"),
        ({"span": "a"}, 400, "span"),
        ({"from": "now-7h"}, 422, "six hours"),
        ({"min_share": "2"}, 400, "min_share"),
    ],
)
async def test_what_cannot_be_asked_is_named(backend: Backend, query: dict[str, str], status: int, says: str) -> None:
    response = await backend.client.get(URL, params=query, headers=backend.read)
    assert response.status == status
    problem = await response.json()
    assert says in problem["detail"] + problem["where"]
