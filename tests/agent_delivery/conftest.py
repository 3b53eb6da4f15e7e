"""Builders shared by the tests of derivation and delivery."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from gapscope_agent import wire
from gapscope_agent.config import AgentConfig
from gapscope_agent.reading import GpuFacts, HostFacts, Origin

START_NS = 1_800_000_000_000_000_000


@pytest.fixture
def origin() -> Origin:
    gpus = [GpuFacts(index=0, name="GPU A", uuid="GPU-a"), GpuFacts(index=1, name="GPU B", uuid="GPU-b")]
    return Origin(format=2, start_ns=START_NS, host=HostFacts(name="one", logical_cpus=2), gpus=gpus)


@pytest.fixture
def make_batch() -> Callable[..., wire.Batch]:
    def make(sequence: int = 0, values: int = 10) -> wire.Batch:
        times = START_NS + np.arange(values, dtype=np.int64) * 100_000_000
        column = np.linspace(0, 1, values)
        group = wire.encode_group("gpu:GPU-a", times, {"gpu_sm_active_ratio": column})
        return wire.Batch(
            version=wire.WIRE_VERSION,
            host="one",
            run_id="0123456789abcdef",
            sequence=sequence,
            start_ns=START_NS,
            end_ns=START_NS + 5_000_000_000,
            agent_version="0",
            sent_ns=START_NS,
            groups=[group],
        )

    return make


Reply = Callable[[web.Request, int], Awaitable[web.StreamResponse]]


@dataclass
class Backend:
    """A server that speaks the ingest protocol; ``replies`` are played first, one a request, then all is stored."""

    replies: list[Reply] = field(default_factory=list)
    batches: list[wire.Batch] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    requests: int = 0
    watch_seconds: float = 0.0
    stack_seconds: float = 0.0
    frames: list[wire.LiveFrame] = field(default_factory=list)
    sockets: int = 0
    framed: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    @property
    def identities(self) -> list[int]:
        """Sequences as a store with (host, run, sequence) as its key would hold them."""
        return sorted({batch.sequence for batch in self.batches})

    async def ingest(self, request: web.Request) -> web.StreamResponse:
        self.tokens.append(request.headers.get("Authorization"))
        number, self.requests = self.requests, self.requests + 1
        if number < len(self.replies):
            return await self.replies[number](request, number)
        return await self.store(request)

    async def store(self, request: web.Request) -> web.Response:
        batch = wire.decode_batch(await request.read())
        wire.decode_groups(batch)
        known = any((b.run_id, b.sequence) == (batch.run_id, batch.sequence) for b in self.batches)
        self.batches.append(batch)
        return web.json_response({"stored": not known, "duplicate": known})

    async def live(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.sockets += 1
        if self.watch_seconds:
            await socket.send_bytes(wire.encode(wire.LiveRequest(seconds=self.watch_seconds)))
        if self.stack_seconds:
            await socket.send_bytes(wire.encode(wire.StackRequest(seconds=self.stack_seconds)))
        async for message in socket:
            self.frames.append(wire.decode_live_frame(message.data))
            self.framed.set()
        return socket


@pytest.fixture
async def backend() -> AsyncIterator[Backend]:
    backend = Backend()
    app = web.Application(client_max_size=wire.MAX_BATCH_BYTES)
    app.router.add_post("/api/v1/ingest", backend.ingest)
    app.router.add_get("/api/v1/agent/live", backend.live)
    server = TestServer(app)
    await server.start_server()
    backend.url = str(server.make_url("")).rstrip("/")
    yield backend
    await server.close()


@pytest.fixture
def config(backend: Backend) -> AgentConfig:
    return AgentConfig(
        server=backend.url,
        token="secret",
        host="one",
        request_timeout_seconds=5,
        retry_initial_seconds=0.01,
        retry_max_seconds=0.05,
        hold_seconds=0.02,
        flush_seconds=1,
    )
