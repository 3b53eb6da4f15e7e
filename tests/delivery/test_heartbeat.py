"""The heartbeat: at its pace while alerts are evaluated, and silent when they are not."""

from __future__ import annotations

import asyncio
import json

import pytest

from gapscope_backend.alerts.heartbeat import EVALUATOR
from gapscope_backend.store.alert_models import Channel
from gapscope_backend.store.work import add_work, claim_work, note_round, release_leases
from tests.delivery.conftest import Outbox
from tests.delivery.listening import answer
from tests.delivery.messages import NOW, SECOND, delivery

MINUTE = 60
LEASE = 30 * SECOND


async def begin(outbox: Outbox, **settings: int | bool) -> None:
    async with outbox.database.write() as session:
        channel = await session.get(Channel, "ops")
        assert channel is not None
        channel.settings = {**channel.settings, "heartbeat_seconds": MINUTE, **settings}
    await add_work(outbox.database, EVALUATOR, False, NOW)
    await evaluate(outbox)


async def evaluate(outbox: Outbox, through: bool = True) -> None:
    """A worker takes the evaluation, or holds on to it, and gets through a round."""
    await release_leases(outbox.database, "worker")
    (lease,) = await claim_work(outbox.database, "worker", [EVALUATOR], outbox.clock(), LEASE, 1)
    if through:
        await note_round(outbox.database, lease, outbox.clock())


@pytest.mark.both_engines
async def test_a_heartbeat_comes_at_its_pace_however_many_send_it(outbox: Outbox) -> None:
    await begin(outbox)
    others = [outbox.another() for _ in range(2)]
    for _ in range(12):  # three minutes in steps of 15 s
        await evaluate(outbox)
        await outbox.tick(15)
        for other in others:
            await other.tick()
            await other.settle()
    slots = {(NOW + step * 15 * SECOND) // (MINUTE * SECOND) for step in range(1, 13)}
    assert len(outbox.listener.ids) == len(set(outbox.listener.ids)) == len(slots)
    assert {json.loads(request.body)["type"] for request in outbox.listener.requests} == {"gapscope.heartbeat"}


async def test_it_goes_silent_when_nobody_evaluates(outbox: Outbox) -> None:
    await begin(outbox)
    await outbox.tick()
    assert outbox.listener.connections == 1
    for _ in range(10):  # the worker has died: its lease runs out, and messages go on
        await outbox.tick(MINUTE)
    assert outbox.listener.connections == 1
    await outbox.put(delivery())
    await outbox.tick()
    assert outbox.listener.connections == 2
    await evaluate(outbox)
    await outbox.tick()
    assert outbox.listener.connections == 3


async def test_it_goes_silent_when_the_evaluation_fails(outbox: Outbox) -> None:
    """The worker lives and holds its lease, and no round succeeds any more."""
    await begin(outbox)
    await outbox.tick()
    for _ in range(20):
        outbox.clock.advance(15)
        await evaluate(outbox, through=False)
        await outbox.tick()
    assert outbox.listener.connections <= 2  # the minute in which the last round was good may still have its own
    before = outbox.listener.connections
    await evaluate(outbox)
    await outbox.tick()
    assert outbox.listener.connections == before + 1


async def test_a_missed_heartbeat_is_not_sent_late(outbox: Outbox) -> None:
    await begin(outbox)
    outbox.listener.replies = [answer(500), answer(200)]
    await outbox.tick()
    for _ in range(3):
        outbox.clock.advance(MINUTE)
        await evaluate(outbox)
        await outbox.tick()
    missed, *came = outbox.listener.ids
    assert missed not in came
    assert len(came) == len(set(came)) == 3


async def test_a_channel_that_wants_none_gets_none(outbox: Outbox) -> None:
    await begin(outbox, heartbeat_seconds=0)
    for _ in range(3):
        await evaluate(outbox)
        await outbox.tick(MINUTE)
    await asyncio.sleep(0)
    assert outbox.listener.connections == 0
