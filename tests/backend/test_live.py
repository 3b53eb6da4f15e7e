"""The live relay: requests reach the agent, frames reach the pages that watch, slow pages lose frames."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import numpy as np
import pytest
from aiohttp import WSMsgType, WSServerHandshakeError

from gapscope_agent.wire import LiveFrame, LiveRequest, StackRequest, encode
from gapscope_backend.services.live import QUEUE, LiveHub
from tests.backend.batches import GPU, NOW, SECOND, TICK, BatchMaker, Clock, group
from tests.backend.running import Backend

AGENT = "/api/v1/agent/live?host=node-1"
PAGE = "/api/v1/live?host=node-1"


def frame(t: int = NOW, host: str = "node-1") -> LiveFrame:
    return LiveFrame(host=host, t=t, values={GPU: {"gpu_graphics_active_ratio": 0.5, "gpu_power_watts": None}})


async def known_host(backend: Backend, maker: BatchMaker) -> None:
    start = NOW - SECOND
    await backend.store(maker.make(start, NOW, [group(GPU, start, TICK, gpu_power_watts=np.ones(10))]))


async def connect_agent(backend: Backend) -> Any:
    return await backend.client.ws_connect(AGENT, headers={"Authorization": f"Bearer {backend.ingest_token}"})


async def text(socket: Any) -> dict[str, Any]:
    message = await socket.receive(timeout=10)
    assert message.type is WSMsgType.TEXT, message
    answer: dict[str, Any] = json.loads(message.data)
    return answer


async def test_frames_go_from_agent_to_page(backend: Backend, maker: BatchMaker) -> None:
    await known_host(backend, maker)
    agent = await connect_agent(backend)
    page = await backend.client.ws_connect(PAGE, headers=backend.read)
    request = msgspec.msgpack.decode((await agent.receive(timeout=10)).data, type=LiveRequest)
    assert request.seconds == 30
    assert (await text(page))["state"] == "waiting"
    await agent.send_bytes(encode(frame()))
    assert await text(page) == {"type": "state", "state": "live", "detail": ""}
    assert await text(page) == {
        "type": "frame",
        "host": "node-1",
        "time_ms": NOW / 1e6,
        "values": {GPU: {"gpu_graphics_active_ratio": 0.5, "gpu_power_watts": None}},
    }
    await agent.close()
    assert (await text(page))["state"] == "offline"
    await page.close()


async def test_a_page_that_comes_first_waits_for_the_agent(backend: Backend, maker: BatchMaker) -> None:
    await known_host(backend, maker)
    page = await backend.client.ws_connect(PAGE, headers=backend.read)
    assert (await text(page))["state"] == "offline"
    agent = await connect_agent(backend)
    assert (await text(page))["state"] == "waiting"
    assert msgspec.msgpack.decode((await agent.receive(timeout=10)).data, type=LiveRequest).seconds == 30
    await page.close()
    await agent.close()


@pytest.mark.parametrize("bad", [b"\xff\xff", encode(frame(host="node-2"))])
async def test_a_bad_frame_ends_the_connection_with_its_reason(backend: Backend, bad: bytes) -> None:
    agent = await connect_agent(backend)
    await agent.send_bytes(bad)
    message = await agent.receive(timeout=10)
    assert (message.type, message.data) == (WSMsgType.CLOSE, 1008)
    assert "frame" in message.extra


async def test_a_page_of_another_site_does_not_watch(backend: Backend, maker: BatchMaker) -> None:
    await known_host(backend, maker)
    cookie = await backend.login()
    for headers in ({}, {"Origin": "http://evil.example"}):
        with pytest.raises(WSServerHandshakeError) as refused:
            await backend.client.ws_connect(PAGE, headers={**cookie, **headers})
        assert refused.value.status == 403
    own = {"Origin": str(backend.client.make_url("/")).rstrip("/")}
    page = await backend.client.ws_connect(PAGE, headers={**cookie, **own})
    assert (await text(page))["type"] == "state"
    await page.close()


async def answer_of(page: Any) -> dict[str, Any]:
    """The next message that is no state."""
    while (message := await text(page))["type"] == "state":
        pass
    return message


async def test_who_is_logged_in_asks_the_agent_for_stacks_and_a_token_does_not(
    backend: Backend, maker: BatchMaker
) -> None:
    await known_host(backend, maker)
    agent = await connect_agent(backend)
    by_token = await backend.client.ws_connect(PAGE, headers=backend.read)
    await by_token.send_str('{"type": "stacks", "seconds": 11}')
    own = {"Origin": str(backend.client.make_url("/")).rstrip("/")}
    page = await backend.client.ws_connect(PAGE, headers={**await backend.login(), **own})
    for text_sent in ("{", '{"type": "stacks", "seconds": 1e9}', '{"type": "x"}', '{"type": "stacks", "seconds": 12}'):
        await page.send_str(text_sent)
    requests = [
        msgspec.msgpack.decode((await agent.receive(timeout=10)).data, type=LiveRequest | StackRequest)
        for _ in range(3)
    ]
    assert requests == [LiveRequest(seconds=30), LiveRequest(seconds=30), StackRequest(seconds=12)]
    refused = {"type": "asked", "accepted": False, "reason": "not_logged_in"}
    assert await answer_of(by_token) == refused
    assert await answer_of(page) == {"type": "asked", "accepted": True, "reason": ""}
    await agent.close()
    while (await text(page)).get("state") != "offline":
        pass
    await page.send_str('{"type": "stacks", "seconds": 5}')
    assert await answer_of(page) == {**refused, "reason": "no_agent"}
    for socket in (page, by_token):
        await socket.close()


@pytest.mark.parametrize(("path", "status"), [("?host=other-1", 403), ("?host=a/b", 400), ("", 400)])
async def test_an_agent_sends_only_as_its_hosts(backend: Backend, path: str, status: int) -> None:
    with pytest.raises(WSServerHandshakeError) as refused:
        await backend.client.ws_connect(
            f"/api/v1/agent/live{path}", headers={"Authorization": f"Bearer {backend.ingest_token}"}
        )
    assert refused.value.status == status


async def test_a_host_that_is_not_known_is_not_watched(backend: Backend) -> None:
    with pytest.raises(WSServerHandshakeError) as refused:
        await backend.client.ws_connect(PAGE, headers=backend.read)
    assert refused.value.status == 404


async def nowhere(_: LiveRequest | StackRequest) -> None:
    return None


async def test_a_slow_page_keeps_the_newest_frames() -> None:
    clock = Clock()
    hub = LiveHub(clock.monotonic)
    watcher = await hub.watch("node-1")
    link = await hub.connect_agent("node-1", nowhere)
    for tick in range(1000):
        hub.relay("node-1", link, frame(t=tick * 1_000_000))
    assert json.loads(await watcher.next())["state"] == "live"
    kept = [json.loads(await watcher.next())["time_ms"] for _ in range(QUEUE)]
    assert kept == [996, 997, 998, 999]
    assert watcher.dropped == 1000 - QUEUE
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(watcher.next(), 0.01)


async def test_an_agent_that_falls_silent_is_waited_for() -> None:
    clock = Clock()
    hub = LiveHub(clock.monotonic)
    watcher = await hub.watch("node-1")
    link = await hub.connect_agent("node-1", nowhere)
    hub.relay("node-1", link, frame())
    await watcher.next()
    await watcher.next()
    clock.advance(4)
    await hub.judge_all()
    assert json.loads(await watcher.next())["state"] == "waiting"


async def test_requests_are_renewed_while_somebody_watches() -> None:
    asked: list[float] = []

    async def note(request: LiveRequest | StackRequest) -> None:
        asked.append(request.seconds)

    hub = LiveHub(Clock().monotonic)
    await hub.connect_agent("node-1", note)
    await hub.renew()
    assert asked == []
    watcher = await hub.watch("node-1")
    await hub.renew()
    hub.unwatch("node-1", watcher)
    await hub.renew()
    assert asked == [30, 30]


async def test_a_second_connection_of_an_agent_replaces_the_first() -> None:
    hub = LiveHub(Clock().monotonic)
    watcher = await hub.watch("node-1")
    first = await hub.connect_agent("node-1", nowhere)
    await hub.connect_agent("node-1", nowhere)
    hub.disconnect_agent("node-1", first)
    assert json.loads(await watcher.next())["state"] == "waiting"
