"""The way of a message from the outbox to its receiver, on a clock that is passed in."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from email.utils import formatdate

import pytest
from sqlalchemy import func, select

from gapscope_backend.alerts.delivery import AT_ONCE, CUT_OFF, LEASE_NS, Deliveries
from gapscope_backend.alerts.egress import Egress
from gapscope_backend.alerts.signing import new_secret, verify
from gapscope_backend.store.alert_models import Delivery
from gapscope_backend.store.deliveries import HEARTBEATS_KEPT_NS, KEPT_NS, Room, claim_deliveries
from gapscope_backend.store.retention import Retention, delete_old
from tests.delivery.conftest import Outbox
from tests.delivery.listening import Listener, answer, listening
from tests.delivery.messages import NOW, SECOND, channel, delivery, message, resolved

HOUR = 3600
GAPS = [5, 30, 120, 600, 1800]
"""As promised; then hourly, up to a day."""


async def until(holds: Callable[[], object]) -> None:
    """Wait for a listener's state."""
    for _ in range(2000):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not come to that")


@pytest.mark.both_engines
async def test_a_message_is_sent_once_and_signed(outbox: Outbox) -> None:
    row = delivery()
    await outbox.put(row)
    for _ in range(3):
        await outbox.tick(HOUR)
    (request,) = outbox.listener.requests
    assert request.method == "POST"
    assert request.headers["webhook-id"] == row.id
    assert verify([outbox.secret], request.headers, request.body, (NOW + HOUR * SECOND) / 1e9)
    held = await outbox.row(row)
    assert (held.state, held.attempts, held.done_ns) == ("delivered", 1, NOW + HOUR * SECOND)
    assert [(entry["t_ns"], entry["status"], entry["error"]) for entry in held.log] == [(NOW + HOUR * SECOND, 200, "")]


async def test_nothing_goes_before_it_is_due(outbox: Outbox) -> None:
    row = delivery(due_ns=NOW + 60 * SECOND)
    await outbox.put(row)
    await outbox.tick(59.9)
    assert outbox.listener.connections == 0
    await outbox.tick(0.1)
    assert outbox.listener.ids == [row.id]


async def test_the_schedule_of_retries_and_its_end(outbox: Outbox) -> None:
    """Nothing goes a nanosecond before its time."""
    outbox.listener.replies = [answer(500, b"try later")]
    row = delivery()
    await outbox.put(row)
    await outbox.tick()
    times = [outbox.clock()]
    while (await outbox.row(row)).state == "pending":
        due_ns = (await outbox.row(row)).due_ns
        outbox.clock.now_ns = due_ns - 1
        await outbox.tick()
        assert len(outbox.listener.requests) == len(times)
        outbox.clock.now_ns = due_ns
        await outbox.tick()
        times.append(due_ns)
        assert len(outbox.listener.requests) == len(times)
    gaps = [(after - before) // SECOND for before, after in itertools.pairwise(times)]
    assert gaps[: len(GAPS)] == GAPS
    assert set(gaps[len(GAPS) : -1]) == {HOUR}
    assert gaps[-1] <= HOUR
    assert times[-1] == NOW + 24 * HOUR * SECOND
    held = await outbox.row(row)
    assert (held.state, held.attempts, len(held.log)) == ("failed", len(times), len(times))
    assert {entry["error"] for entry in held.log} == {"answered 500: try later"}
    assert set(outbox.listener.ids) == {row.id}
    await outbox.tick(48 * HOUR)
    assert len(outbox.listener.requests) == len(times)


@pytest.mark.parametrize("status", [300, 304, 400, 401, 404, 410, 429, 500, 503, 599])
async def test_only_2xx_counts(outbox: Outbox, status: int) -> None:
    outbox.listener.replies = [answer(status), answer(202)]
    row = delivery()
    await outbox.put(row)
    await outbox.tick()
    held = await outbox.row(row)
    assert (held.state, held.log[0]["status"], held.due_ns) == ("pending", status, NOW + 5 * SECOND)
    await outbox.tick(5)
    assert (await outbox.row(row)).state == "delivered"


@pytest.mark.parametrize(
    ("told", "wait"),
    [
        ("90", 90),
        ("1", 5),
        ("0", 5),
        (formatdate(NOW // SECOND + 300, usegmt=True), 300),
        (formatdate(NOW // SECOND - 300, usegmt=True), 5),
        ("999999999", 24 * HOUR),
        ("soon", 5),
        ("-1", 5),
        ("", 5),
    ],
)
async def test_retry_after_is_honoured(outbox: Outbox, told: str, wait: int) -> None:
    outbox.listener.replies = [answer(429, Retry_After=told)]
    row = delivery()
    await outbox.put(row)
    await outbox.tick()
    assert (await outbox.row(row)).due_ns == NOW + wait * SECOND


@pytest.mark.both_engines
async def test_a_superseded_state_is_not_sent(outbox: Outbox) -> None:
    outbox.listener.replies = [answer(503), answer(200)]
    firing = delivery(1)
    other = delivery(2, message(group_key="another"), created_ns=NOW - 1)
    await outbox.put(firing)
    await outbox.tick()
    over = delivery(3, resolved(), created_ns=NOW + SECOND, due_ns=NOW + SECOND)
    await outbox.put(over, other)
    await outbox.tick(1)
    assert (await outbox.row(firing)).state == "superseded"
    assert [(await outbox.row(row)).state for row in (over, other)] == ["delivered", "delivered"]
    await outbox.tick(24 * HOUR)
    assert sorted(outbox.listener.ids) == sorted([firing.id, over.id, other.id])


@pytest.mark.both_engines
async def test_of_several_waiting_states_only_the_newest_is_told(outbox: Outbox) -> None:
    rows = [delivery(number, message(), created_ns=NOW + number, due_ns=NOW) for number in (3, 1, 2)]
    await outbox.put(*rows)
    await outbox.tick(1)
    assert outbox.listener.ids == [delivery(3).id]
    assert [(await outbox.row(row)).state for row in rows] == ["delivered", "superseded", "superseded"]


@pytest.mark.both_engines
async def test_a_newer_state_waits_for_the_older_that_is_on_its_way(outbox: Outbox) -> None:
    outbox.listener.hold = asyncio.Event()
    firing = delivery(1)
    await outbox.put(firing)
    await outbox.deliveries.tick()
    await until(lambda: outbox.listener.requests)
    over = delivery(2, resolved(), created_ns=NOW + SECOND, due_ns=NOW + SECOND)
    await outbox.put(over)
    outbox.clock.advance(1)
    for one in (outbox.deliveries, outbox.another()):
        await one.tick()
    assert (await outbox.row(over)).attempts == 0
    outbox.listener.hold.set()
    await outbox.deliveries.settle()
    await outbox.tick()
    assert outbox.listener.ids == [firing.id, over.id]
    assert [(await outbox.row(row)).state for row in (firing, over)] == ["delivered", "delivered"]


@pytest.mark.both_engines
async def test_two_processes_never_send_one_message_at_once(outbox: Outbox) -> None:
    rows = [delivery(number, message(group_key=f"group-{number}")) for number in range(24)]
    await outbox.put(*rows)
    several = [outbox.another() for _ in range(3)]
    while outbox.listener.connections < len(rows):
        await asyncio.gather(*(one.tick() for one in several))
        await asyncio.gather(*(one.settle() for one in several))
    assert sorted(outbox.listener.ids) == sorted(row.id for row in rows)


@pytest.mark.both_engines
async def test_an_attempt_that_was_cut_off_is_made_again_under_the_same_id(outbox: Outbox) -> None:
    row = delivery()
    await outbox.put(row)
    (claimed,) = await claim_deliveries(outbox.database, NOW, NOW + LEASE_NS, Room(10, 10))  # and the process dies
    await outbox.tick()
    assert outbox.listener.connections == 0
    await outbox.tick(LEASE_NS / SECOND)
    held = await outbox.row(row)
    assert outbox.listener.ids == [row.id] == [claimed.id]
    assert (held.state, held.attempts) == ("delivered", 2)
    assert [entry["error"] for entry in held.log] == [CUT_OFF, ""]


@pytest.mark.both_engines
@pytest.mark.parametrize(("status", "state"), [(200, "delivered"), (503, "pending")])
async def test_what_a_late_process_writes_down_changes_nothing(outbox: Outbox, status: int, state: str) -> None:
    """It was held up past its claim, and another has begun since."""
    row = delivery()
    await outbox.put(row)
    outbox.listener.replies = [answer(status), answer(500)]
    (late,) = await claim_deliveries(outbox.database, NOW, NOW + LEASE_NS, Room(10, 10))
    await outbox.tick(LEASE_NS / SECOND)
    before = await outbox.row(row)
    await outbox.another().attempt(late)
    after = await outbox.row(row)
    assert (after.state, after.attempts, after.log) == (before.state, before.attempts, before.log)
    assert after.state == state


@pytest.mark.both_engines
async def test_a_channel_that_hangs_keeps_no_other_waiting(outbox: Outbox, listener: Listener) -> None:
    async with listening() as hung:
        hung.hold = asyncio.Event()
        async with outbox.database.write() as session:
            session.add(channel("webhook", hung.url, id="hung", secrets=[new_secret()]))
        stuck = [delivery(n, message(group_key=f"h-{n}"), channel_id="hung") for n in range(3 * AT_ONCE)]
        await outbox.put(*stuck)
        await outbox.deliveries.tick()
        quick = delivery(1000, message(group_key="quick"), created_ns=NOW + 1, due_ns=NOW + 1)
        await outbox.put(quick)
        outbox.clock.advance(1)
        while not listener.ids:
            await outbox.deliveries.tick()
            await asyncio.sleep(0.01)
        assert listener.ids == [quick.id]
        assert hung.connections < AT_ONCE
        hung.hold.set()
        await outbox.deliveries.settle()


async def test_a_deleted_or_switched_off_channel_gets_nothing_more(outbox: Outbox) -> None:
    gone = delivery(1, message(group_key="a"), channel_id="gone")
    off = delivery(2, message(group_key="b"), channel_id="off")
    async with outbox.database.write() as session:
        session.add(channel("webhook", outbox.listener.url, id="off", enabled=False, secrets=[new_secret()]))
    await outbox.put(gone, off)
    await outbox.tick()
    assert outbox.listener.connections == 0
    told = [(row.state, row.log[0]["error"]) for row in [await outbox.row(gone), await outbox.row(off)]]
    assert told == [("failed", "the channel was deleted"), ("failed", "the channel is switched off")]


async def test_a_target_that_moved_inside_is_not_reached(outbox: Outbox) -> None:
    """Saved as a public address, it resolves to a private one by the time of delivery."""

    async def inside(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    async with outbox.database.write() as session:
        session.add(channel("webhook", f"https://hooks.example:{outbox.listener.port}/SECRETPATH", id="moved"))
    row = delivery(channel_id="moved")
    await outbox.put(row)
    guarded = Deliveries(outbox.database, Egress(resolve=inside), outbox.clock, outbox.clock.monotonic)
    await guarded.tick()
    await guarded.settle()
    held = await outbox.row(row)
    assert outbox.listener.connections == 0
    assert (held.state, held.due_ns) == ("pending", NOW + 5 * SECOND)
    assert "127.0.0.1, which is loopback" in held.log[0]["error"]
    assert "SECRETPATH" not in held.log[0]["error"]


async def test_the_log_hides_what_a_target_repeats_of_our_secrets(outbox: Outbox) -> None:
    listener = outbox.listener
    token, key = "abcdef0123456789", "Bearer 9876543210fedcba"
    async with outbox.database.write() as session:
        told = channel(
            "webhook", f"{listener.url}/{token}?key={token}x", id="told", settings={"headers": {"Authorization": key}}
        )
        told.secrets = [outbox.secret]
        told.settings = {"url": f"{listener.url}/{token}?key={token}x", "headers": {"Authorization": key}}
        session.add(told)
    listener.replies = [answer(400, f"no {token} {token}x {key} {key.split()[1]} {outbox.secret}".encode())]
    row = delivery(channel_id="told")
    await outbox.put(row)
    await outbox.tick()
    assert listener.requests[0].headers["authorization"] == key
    error = (await outbox.row(row)).log[0]["error"]
    assert error == "answered 400: no *** *** *** *** ***"


async def test_a_bot_that_refuses_with_200_was_not_reached(outbox: Outbox) -> None:
    outbox.listener.replies = [answer(200, b'{"code":19021,"msg":"sign match fail"}'), answer(200, b'{"code":0}')]
    async with outbox.database.write() as session:
        session.add(channel("feishu", outbox.listener.url, id="bot"))
    row = delivery(channel_id="bot")
    await outbox.put(row)
    await outbox.tick()
    assert (await outbox.row(row)).log[0]["error"] == "answered 200, but code 19021: sign match fail"
    await outbox.tick(5)
    assert (await outbox.row(row)).state == "delivered"


async def test_a_message_that_cannot_be_read_is_given_up_and_says_so(outbox: Outbox) -> None:
    row = delivery(message={"version": 99})
    await outbox.put(row)
    await outbox.tick()
    held = await outbox.row(row)
    assert (held.state, held.log[0]["status"]) == ("failed", None)
    assert "cannot be written" in held.log[0]["error"]


@pytest.mark.both_engines
async def test_old_rows_are_forgotten_and_waiting_ones_are_not(outbox: Outbox) -> None:
    day = 24 * HOUR * SECOND
    rows = [
        delivery(1, state="delivered"),
        delivery(2, state="pending", due_ns=NOW + 400 * day),
        delivery(3, kind="heartbeat", state="delivered"),
        delivery(4, state="failed", created_ns=NOW + KEPT_NS),
    ]
    await outbox.put(*rows)

    async def left() -> int:
        async with outbox.database.read() as session:
            return int(await session.scalar(select(func.count()).select_from(Delivery)) or 0)

    await delete_old(outbox.database, Retention(), NOW + HEARTBEATS_KEPT_NS + 1)
    assert await left() == 3
    await delete_old(outbox.database, Retention(), NOW + KEPT_NS + 1)
    assert await left() == 2


@pytest.mark.both_engines
async def test_a_message_written_twice_is_one(outbox: Outbox) -> None:
    """The alerts write it again after a kill, with the same id."""
    row = delivery()
    await outbox.put(row)
    await outbox.tick()
    await outbox.put(delivery())
    await outbox.tick(HOUR)
    assert outbox.listener.ids == [row.id]
