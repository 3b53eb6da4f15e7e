"""Incidents open, go on, merge and close as the data says, whenever it comes and whatever is killed."""

from __future__ import annotations

import random
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncSession

from gapscope_agent.wire import Batch
from gapscope_backend.store.incidents import store_incidents
from gapscope_backend.store.models import Incident
from tests.backend.batches import SECOND
from tests.incidents.story import Story, at, batches, gpu_key
from tests.incidents.watching import Watching

WELL, BAD = 0.9, 0.02
STORE = "gapscope_backend.services.incidents.store_incidents"
ONE_DROP = ((30.0, WELL), (40.0, BAD), (40.0, WELL))


@pytest.fixture
def analyse() -> Story:
    return Story()


def told(incident: Incident) -> tuple[Any, ...]:
    """What must not depend on when the server was killed."""
    return (
        incident.id,
        incident.state,
        incident.cause,
        at(incident.start_ns),
        at(incident.end_ns),
        round(incident.lost_gpu_seconds, 6),
        incident.sentence,
    )


async def test_a_drop_opens_goes_on_and_closes(watching: Watching) -> None:
    sent = batches(*ONE_DROP)
    await watching.deliver(sent[:8])
    assert await watching.incidents() == []
    await watching.deliver(sent[8:11])
    (opened,) = await watching.incidents()
    assert (opened.state, at(opened.start_ns), opened.closed_ns) == ("open", 30, None)
    assert opened.sentence.startswith("GPU 0 waited 98% of the last ")
    await watching.deliver(sent[11:])
    (closed,) = await watching.incidents()
    assert (closed.id, closed.state, closed.end_reason) == (opened.id, "closed", "recovered")
    assert (at(closed.start_ns), at(closed.end_ns)) == (30, 70)
    assert closed.lost_gpu_seconds == pytest.approx(40 * 0.98, abs=0.1)
    assert closed.sentence.startswith("GPU 0 waited 98% of 40 s")
    assert closed.opened_ns == opened.opened_ns
    assert [row["cause"] for row in closed.ledger] == ["cpu_preprocess", "healthy"]
    assert closed.spans == [
        {"start_ns": closed.start_ns, "end_ns": closed.end_ns, "text": {"text": "idle", "values": {}}}
    ]


@pytest.mark.both_engines
@pytest.mark.parametrize("killed_after", [6, 9, 12, 19])
async def test_a_kill_between_batches_changes_nothing(watching: Watching, killed_after: int) -> None:
    sent = batches(*ONE_DROP)
    await watching.deliver(sent[:killed_after])
    before = {incident.id for incident in await watching.incidents()}
    watching.restart()
    await watching.rolling.tick()
    assert {incident.id for incident in await watching.incidents()} >= before
    await watching.deliver(sent[killed_after:])
    (incident,) = await watching.incidents()
    assert (incident.state, at(incident.start_ns), at(incident.end_ns)) == ("closed", 30, 70)


@pytest.mark.both_engines
@pytest.mark.parametrize("seed", range(3))
async def test_kills_inside_transactions_lose_and_double_nothing(
    watching: Watching, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    sent = batches((30, WELL), (40, BAD), (200, WELL), (30, BAD), (30, WELL), seconds=10)
    dice = random.Random(seed)

    async def dying(session: AsyncSession, *words: Any) -> None:
        await store_incidents(session, *words)
        if dice.random() < 0.5:
            raise SystemError("killed before the commit")

    monkeypatch.setattr(STORE, dying)
    for batch in sent:
        await watching.store(batch)
        await watching.rolling.tick()
        if dice.random() < 0.5:
            watching.restart()
    monkeypatch.setattr(STORE, store_incidents)
    watching.restart()
    await watching.rolling.tick()
    spans = [(one.state, at(one.start_ns), at(one.end_ns)) for one in await watching.incidents()]
    assert spans == [("closed", 30, 70), ("closed", 270, 300)]


async def test_a_failed_write_is_made_up_for_without_a_restart(
    watching: Watching, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = batches(*ONE_DROP)

    async def full(*_: Any) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(STORE, full)
        await watching.deliver(sent[:-1])
    assert await watching.incidents() == []
    await watching.deliver(sent[-1:])
    (incident,) = await watching.incidents()
    assert (at(incident.start_ns), at(incident.end_ns)) == (30, 70)


async def test_data_that_comes_after_newer_data_is_not_lost(watching: Watching) -> None:
    sent = batches((30, WELL), (60, WELL), (40, BAD), (60, WELL))
    late, rest = sent[16:28], [*sent[:16], *sent[28:]]
    await watching.deliver(rest)
    assert await watching.incidents() == []
    await watching.deliver(late)
    watching.clock.advance(6)
    await watching.rolling.tick()
    (incident,) = await watching.incidents()
    assert (incident.state, at(incident.start_ns), at(incident.end_ns)) == ("closed", 90, 130)


@pytest.mark.both_engines
async def test_batches_out_of_order_make_one_incident(watching: Watching) -> None:
    sent = batches(*ONE_DROP)
    swapped: list[Batch] = []
    for first, second in zip(sent[0::2], sent[1::2], strict=True):
        swapped += [second, first]
    await watching.deliver(swapped)
    watching.clock.advance(31)
    await watching.rolling.tick()
    (incident,) = await watching.incidents()
    assert (incident.state, at(incident.start_ns), at(incident.end_ns)) == ("closed", 30, 70)


@pytest.mark.both_engines
async def test_duplicates_and_a_second_look_change_nothing(watching: Watching) -> None:
    sent = batches(*ONE_DROP)
    await watching.deliver(sent)
    once = [told(incident) for incident in await watching.incidents()]
    await watching.deliver(sent)
    watching.clock.advance(31)
    await watching.rolling.tick()
    assert [told(incident) for incident in await watching.incidents()] == once


@pytest.mark.parametrize(("pause", "cause", "count"), [(60, "", 1), (200, "", 2), (60, "io_wait", 2)])
async def test_the_same_cause_after_a_short_pause_is_the_same_incident(
    watching: Watching, analyse: Story, pause: float, cause: str, count: int
) -> None:
    sent = batches((30, WELL), (20, BAD), (pause, WELL), (20, BAD), (60, WELL))
    half = int(30 + 20 + pause) // 5
    await watching.deliver(sent[:half])
    analyse.cause = cause or analyse.cause
    await watching.deliver(sent[half:])
    found = await watching.incidents()
    assert len(found) == count
    assert {one.state for one in found} == {"closed"}
    assert at(found[0].start_ns) == 30
    assert at(found[-1].end_ns) == 30 + 20 + pause + 20


async def test_gpus_of_one_host_with_one_cause_share_an_incident(watching: Watching) -> None:
    await watching.deliver(batches(*ONE_DROP, gpus=3))
    (incident,) = await watching.incidents()
    assert incident.gpus == [gpu_key(0), gpu_key(1), gpu_key(2)]
    assert incident.lost_gpu_seconds == pytest.approx(3 * 40 * 0.98, abs=0.3)
    assert incident.sentence.startswith("GPUs 0, 1, 2 waited 98% of 40 s")


async def test_hosts_do_not_share_incidents(watching: Watching) -> None:
    pairs = zip(batches(*ONE_DROP), batches(*ONE_DROP, host="node-2"), strict=True)
    await watching.deliver(batch for pair in pairs for batch in pair)
    assert len({(one.host_id, one.id) for one in await watching.incidents()}) == 2


@pytest.mark.parametrize("cause", ["no_work", "unallocated", "memory_bound", "not_measured"])
async def test_what_is_nobodys_fault_opens_nothing(watching: Watching, analyse: Story, cause: str) -> None:
    analyse.cause = cause
    await watching.deliver(batches((30, WELL), (120, BAD), (30, WELL), seconds=10))
    assert await watching.incidents() == []


async def test_what_is_not_explained_opens_one(watching: Watching, analyse: Story) -> None:
    analyse.cause = "unknown"
    await watching.deliver(batches(*ONE_DROP))
    (incident,) = await watching.incidents()
    assert (incident.cause, incident.row_class, incident.lost_gpu_seconds) == ("unknown", "missing", 0)


async def test_a_drop_that_turns_into_a_fault_opens_one(watching: Watching, analyse: Story) -> None:
    sent = batches((30, WELL), (200, BAD), (30, WELL), seconds=10)
    analyse.cause = "no_work"
    await watching.deliver(sent[:10])
    assert await watching.incidents() == []
    analyse.cause = "io_wait"
    await watching.deliver(sent[10:])
    (incident,) = await watching.incidents()
    assert (incident.cause, at(incident.start_ns), at(incident.end_ns)) == ("io_wait", 30, 230)


async def test_a_fault_that_costs_steadily_opens_one_without_a_drop(watching: Watching, analyse: Story) -> None:
    analyse.cause = "sync_points"
    await watching.deliver(batches((240, 0.4), (90, 0.95), seconds=15))
    (incident,) = await watching.incidents()
    assert (incident.state, incident.cause) == ("closed", "sync_points")
    assert at(incident.start_ns) < 30
    assert at(incident.end_ns) == pytest.approx(240, abs=5)
    assert {episode["kind"] for episode in incident.episodes} == {"costly"}


async def test_what_costs_less_than_half_for_long_opens_nothing(watching: Watching, analyse: Story) -> None:
    analyse.cause = "sync_points"
    await watching.deliver(batches((400, 0.6), seconds=20))
    assert await watching.incidents() == []


async def test_a_long_incident_is_settled_in_parts(watching: Watching, analyse: Story) -> None:
    await watching.deliver(batches((60, WELL), (3600, BAD), (60, WELL), seconds=60))
    (incident,) = await watching.incidents()
    assert at(incident.start_ns) == 60
    assert at(incident.end_ns) == pytest.approx(3660, abs=1)
    assert incident.lost_gpu_seconds == pytest.approx(3600 * 0.98, abs=1)
    assert incident.severity == "major"
    assert incident.sentence.startswith("GPU 0 waited 98% of 60 minutes")
    assert max(span.end_ns - span.start_ns for span in analyse.seen) <= 900 * SECOND
    assert sum(span.end_ns - span.start_ns for span in analyse.seen) < 20 * 3600 * SECOND


async def test_silence_does_not_close_an_incident_of_a_host(watching: Watching) -> None:
    sent = batches(*ONE_DROP)
    await watching.deliver(sent[:12])
    watching.clock.advance(3600)
    await watching.rolling.tick()
    assert [one.state for one in await watching.incidents()] == ["open"]
    watching.clock.advance(24 * 3600)
    await watching.rolling.tick()
    (incident,) = await watching.incidents()
    assert (incident.state, incident.end_reason) == ("closed", "data_ended")
    assert at(incident.end_ns) < 60


async def test_a_host_that_comes_back_goes_on_with_its_incident(watching: Watching) -> None:
    sent = batches(*ONE_DROP)
    await watching.deliver(sent[:12])
    watching.clock.advance(25 * 3600)
    await watching.rolling.tick()
    await watching.deliver(sent[12:])
    (incident,) = await watching.incidents()
    assert (incident.state, incident.end_reason, at(incident.end_ns)) == ("closed", "recovered", 70)
