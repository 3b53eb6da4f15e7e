"""Delivery against a real server that misbehaves; the accounting holds at every step."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest
from aiohttp import web

from gapscope_agent import wire
from gapscope_agent.accounting import Ledger
from gapscope_agent.answers import Fate, judge
from gapscope_agent.config import AgentConfig
from gapscope_agent.shipper import Shipper

Make = Callable[..., wire.Batch]
Backend = Any


class CheckedLedger(Ledger):
    """The oracle: after every change the equation holds and no term is negative."""

    def check(self) -> None:
        assert self.holds
        assert min(self.sampled, self.delivered, self.buffered, *self.dropped.values(), 0) == 0

    def sample(self, values: int) -> None:
        super().sample(values)
        self.check()

    def deliver(self, values: int) -> None:
        super().deliver(values)
        self.check()

    def drop(self, values: int, reason: str) -> None:
        super().drop(values, reason)
        self.check()


class Agent:
    """A shipper at work on made-up batches."""

    def __init__(self, config: AgentConfig, make_batch: Make) -> None:
        self.ledger = CheckedLedger()
        self.shipper = Shipper(config, self.ledger)
        self.stop = asyncio.Event()
        self.sequence = 0
        self._make = make_batch

    def offer(self, count: int = 1, values: int = 10) -> None:
        for _ in range(count):
            batch = self._make(self.sequence, values)
            self.sequence += 1
            self.ledger.sample(wire.count_values(batch))
            self.shipper.offer(batch)
            assert self.ledger.buffered == self.shipper.queued_values

    async def until(self, done: Callable[[], bool]) -> None:
        while not done():
            assert self.ledger.buffered == self.shipper.queued_values
            await asyncio.sleep(0.005)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Agent]:
        task = asyncio.create_task(self.shipper.run(self.stop))
        try:
            yield self
        finally:
            self.stop.set()
            await task
            self.ledger.check()
            assert self.ledger.buffered == self.shipper.queued_values == self.shipper.queued_bytes == 0


def answer(status: int, headers: dict[str, str] | None = None, body: str = "no") -> Callable[..., Awaitable[Any]]:
    async def reply(request: web.Request, number: int) -> web.Response:
        await request.read()
        return web.Response(status=status, headers=headers, text=body)

    return reply


async def reset(request: web.Request, number: int) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    raise ConnectionResetError


async def hang(request: web.Request, number: int) -> web.StreamResponse:
    await asyncio.sleep(1)
    return web.Response()


async def test_batches_arrive_in_order_and_are_acknowledged(
    backend: Backend, config: AgentConfig, make_batch: Make
) -> None:
    async with Agent(config, make_batch).running() as agent:
        agent.offer(5)
        await agent.until(lambda: agent.ledger.delivered == 50)
    assert [batch.sequence for batch in backend.batches] == [0, 1, 2, 3, 4]
    assert set(backend.tokens) == {"Bearer secret"}
    assert agent.ledger.snapshot() == wire.Accounting(sampled=50, delivered=50)


@pytest.mark.parametrize(
    "fault",
    [
        answer(500),
        answer(503, {"Retry-After": "0.02"}),
        answer(429, {"Retry-After": "0.02"}),
        answer(408),
        answer(401),
        answer(403),
        answer(426),
        answer(404),
        answer(302, {"Location": "http://127.0.0.1:1/"}),
        answer(200, body="<html>please log in</html>"),
        answer(200, body='{"stored": false, "duplicate": false}'),
        reset,
    ],
    ids=["500", "503", "429", "408", "401", "403", "426", "404", "302", "portal", "not-stored", "reset"],
)
async def test_a_fault_that_passes_loses_nothing(
    backend: Backend, config: AgentConfig, make_batch: Make, fault: Callable[..., Any]
) -> None:
    backend.replies = [fault, fault]
    async with Agent(config, make_batch).running() as agent:
        agent.offer(3)
        await agent.until(lambda: agent.ledger.delivered == 30)
    assert backend.identities == [0, 1, 2]
    assert backend.requests == 5
    assert not agent.ledger.dropped


async def test_a_server_that_hangs_is_left_and_asked_again(
    backend: Backend, config: AgentConfig, make_batch: Make
) -> None:
    backend.replies = [hang]
    patient = msgspec.structs.replace(config, request_timeout_seconds=0.15)
    async with Agent(patient, make_batch).running() as agent:
        agent.offer()
        await agent.until(lambda: agent.ledger.delivered == 10)
    assert backend.requests == 2


async def test_a_lost_acknowledgement_is_sent_again_and_stored_once(
    backend: Backend, config: AgentConfig, make_batch: Make
) -> None:
    async def store_and_reset(request: web.Request, number: int) -> web.StreamResponse:
        await backend.store(request)
        return await reset(request, number)

    backend.replies = [store_and_reset]
    async with Agent(config, make_batch).running() as agent:
        agent.offer(2)
        await agent.until(lambda: agent.ledger.delivered == 20)
    assert [batch.sequence for batch in backend.batches] == [0, 0, 1]
    assert backend.identities == [0, 1]


@pytest.mark.parametrize(
    ("status", "reason"),
    [(400, "refused_malformed"), (413, "refused_too_large"), (415, "refused_media_type"), (422, "refused_invalid")],
)
async def test_a_refused_batch_is_set_aside_alone(
    backend: Backend, config: AgentConfig, make_batch: Make, status: int, reason: str
) -> None:
    backend.replies = [answer(status)]
    async with Agent(config, make_batch).running() as agent:
        agent.offer(3)
        await agent.until(lambda: agent.ledger.delivered == 20)
    assert backend.identities == [1, 2]
    assert agent.ledger.dropped == {reason: 10}


async def test_a_full_queue_drops_the_oldest_and_counts_them(
    backend: Backend, config: AgentConfig, make_batch: Make, caplog: pytest.LogCaptureFixture
) -> None:
    size = len(wire.encode(make_batch()))
    agent = Agent(msgspec.structs.replace(config, queue_max_bytes=3 * size + 50), make_batch)
    with caplog.at_level(logging.WARNING):
        agent.offer(8)
    assert agent.ledger.dropped == {"queue_full": 50}
    assert "queue_full" in caplog.text
    async with agent.running():
        await agent.until(lambda: agent.ledger.delivered == 30)
    assert backend.identities == [5, 6, 7]


async def test_a_queue_that_fills_while_the_server_fails_keeps_the_newest(
    backend: Backend, config: AgentConfig, make_batch: Make
) -> None:
    size = len(wire.encode(make_batch()))
    backend.replies = [answer(500)] * 10
    agent = Agent(msgspec.structs.replace(config, queue_max_bytes=3 * size + 50), make_batch)
    async with agent.running():
        for _ in range(12):
            agent.offer()
            await asyncio.sleep(0.01)
        await agent.until(lambda: agent.ledger.buffered == 0)
    assert backend.identities[-1] == 11
    assert agent.ledger.delivered + agent.ledger.dropped["queue_full"] == 120


async def test_a_rotated_token_is_picked_up(
    backend: Backend, config: AgentConfig, make_batch: Make, tmp_path: Any
) -> None:
    file = tmp_path / "token"
    file.write_text("old")

    async def refuse_and_rotate(request: web.Request, number: int) -> web.Response:
        file.write_text("new")
        return web.Response(status=401)

    backend.replies = [refuse_and_rotate]
    async with Agent(msgspec.structs.replace(config, token_file=file), make_batch).running() as agent:
        agent.offer()
        await agent.until(lambda: agent.ledger.delivered == 10)
    assert backend.tokens == ["Bearer old", "Bearer new"]


async def test_a_stop_flushes_what_is_queued(backend: Backend, config: AgentConfig, make_batch: Make) -> None:
    agent = Agent(config, make_batch)
    agent.offer(4)
    agent.stop.set()
    async with agent.running():
        pass
    assert agent.ledger.delivered == 40


async def test_a_stop_without_a_server_counts_the_rest_as_dropped(config: AgentConfig, make_batch: Make) -> None:
    away = msgspec.structs.replace(config, server="http://127.0.0.1:9", flush_seconds=0.1)
    agent = Agent(away, make_batch)
    agent.offer(4)
    agent.stop.set()
    async with agent.running():
        pass
    assert agent.ledger.dropped == {"stopped": 40}


async def test_an_answer_without_an_end_is_not_read_to_its_end(
    backend: Backend, config: AgentConfig, make_batch: Make
) -> None:
    async def endless(request: web.Request, number: int) -> web.StreamResponse:
        response = web.StreamResponse(status=500)
        await response.prepare(request)
        with contextlib.suppress(ConnectionError):
            while True:
                await response.write(b"x" * 10_000)
                await asyncio.sleep(0)
        return response

    backend.replies = [endless]
    async with Agent(config, make_batch).running() as agent:
        agent.offer()
        await agent.until(lambda: agent.ledger.delivered == 10)


async def test_a_late_batch_tells_the_time_at_which_it_was_sent(
    backend: Backend, config: AgentConfig, make_batch: Make
) -> None:
    async with Agent(config, make_batch).running() as agent:
        agent.shipper._clock = lambda: 1_900_000_000.0
        agent.offer()
        await agent.until(lambda: agent.ledger.delivered == 10)
    assert backend.batches[0].sent_ns == 1_900_000_000_000_000_000


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7),
        ("Fri, 15 Jan 2027 08:00:30 GMT", 30),
        ("-5", 0),
        ("1e9", 3600),
        ("soon", None),
        ("nan", None),
        (None, None),
    ],
)
def test_retry_after_is_a_number_or_a_date(header: str | None, seconds: float | None) -> None:
    result = judge(429, b"", header, now=1_800_000_000.0)
    assert result.fate is Fate.RETRY
    assert result.wait_seconds == seconds


def test_retry_after_is_the_least_that_is_waited(config: AgentConfig) -> None:
    shipper = Shipper(config, Ledger())
    shipper._failures = 1
    assert shipper._pause(judge(429, b"", "9", now=0)) == 9
    assert shipper._pause(judge(500, b"", None, now=0)) <= 0.01


def test_back_off_grows_to_its_limit_and_a_hold_waits_longer(config: AgentConfig) -> None:
    slow = msgspec.structs.replace(config, retry_initial_seconds=1, retry_max_seconds=60, hold_seconds=100)
    shipper = Shipper(slow, Ledger())
    pauses = []
    for shipper._failures in (1, 3, 5, 500):
        pauses.append(shipper._pause(judge(500, b"", None, now=0)))
    assert [0.5 <= p <= 1 for p in pauses[:1]] + [2 <= pauses[1] <= 4, 8 <= pauses[2] <= 16, 30 <= pauses[3] <= 60] == [
        True
    ] * 4
    assert 50 <= shipper._pause(judge(401, b"", None, now=0)) <= 100
