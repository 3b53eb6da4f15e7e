"""The watch goes from one worker to another: nothing is missed, nothing doubled, and the old one writes no more."""

from __future__ import annotations

from functools import partial

import pytest

from gapscope_backend.services.jobs import JOBS
from gapscope_backend.services.worker import Tools, Worker
from gapscope_backend.store.compaction import compact, due_slots
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Incident
from gapscope_backend.store.retention import Retention
from gapscope_backend.store.watch import read_watches
from gapscope_backend.store.work import LeaseLostError, add_work, claim_work, hold_lease, list_work
from tests.backend.batches import SECOND, Clock
from tests.incidents.story import START, Story, at, batches
from tests.incidents.watching import Watching

WELL, BAD = 0.9, 0.02
LEASE_NS = 30 * SECOND
DROPS = ((30.0, WELL), (40.0, BAD), (150.0, WELL), (30.0, BAD), (30.0, WELL))

pytestmark = pytest.mark.both_engines


async def take_over(database: Database, worker: str, now_ns: int) -> Watching:
    """A watch by a worker that has just claimed it."""
    await add_work(database, "watch", False, 0)
    (lease,) = await claim_work(database, worker, ["watch"], now_ns, LEASE_NS, 1)
    return Watching(database, Clock(now_ns), Story(), fence=partial(hold_lease, lease=lease))


def spans(incidents: list[Incident]) -> list[tuple[str, float, float]]:
    return [(one.state, at(one.start_ns), at(one.end_ns)) for one in incidents]


@pytest.mark.parametrize("moved_after", [4, 21])
async def test_every_moment_of_a_move_gives_the_same_incidents(database: Database, moved_after: int) -> None:
    sent = batches(*DROPS, seconds=10)
    first = await take_over(database, "a", START)
    await first.deliver(sent[:moved_after])
    for batch in sent[moved_after : moved_after + 4]:
        await first.store(batch)  # comes in while nobody watches
    second = await take_over(database, "b", first.clock() + LEASE_NS)
    await second.rolling.tick()
    await second.deliver(sent[moved_after + 4 :])
    assert spans(await second.incidents()) == [("closed", 30, 70), ("closed", 220, 250)]


async def test_a_worker_that_lost_the_watch_writes_no_more(database: Database) -> None:
    sent = batches(*DROPS, seconds=10)
    old = await take_over(database, "a", START)
    await old.deliver(sent[:5])
    new = await take_over(database, "b", old.clock() + LEASE_NS)
    await new.deliver(sent[5:12])
    before = [(one.id, one.state, one.updated_ns) for one in await new.incidents()]
    assert [state for _, state, _ in before] == ["closed"]
    watches = [(row.watermark_ns, row.saved_ns) for row in await read_watches(database)]
    old.clock.now_ns = new.clock() + 120 * SECOND  # its watch is due to be written down
    with pytest.raises(LeaseLostError):
        await old.rolling.tick()
    assert [(row.watermark_ns, row.saved_ns) for row in await read_watches(database)] == watches
    assert [(one.id, one.state, one.updated_ns) for one in await new.incidents()] == before


async def test_what_was_compacted_before_anyone_watched_is_watched(database: Database) -> None:
    first = await take_over(database, "a", START)
    sent = batches((30.0, WELL), (40.0, BAD), (330.0, WELL))
    await first.deliver(sent[:2])
    for batch in sent[2:]:
        await first.store(batch)
    first.clock.advance(120)
    for due in await due_slots(database, first.clock(), 100):
        assert await compact(database, due)
    second = await take_over(database, "b", first.clock() + LEASE_NS)
    await second.rolling.tick()
    assert spans(await second.incidents()) == [("closed", 30, 70)]


async def test_the_jobs_of_a_worker_watch_and_give_back(database: Database) -> None:
    told = Watching(database, Clock(START), Story())
    for batch in batches((30.0, WELL), (40.0, BAD), (40.0, WELL)):
        await told.store(batch)
    clock = told.clock
    worker = Worker(Tools(database, clock, clock.monotonic, Story(), Retention()), JOBS, "a")
    await worker.claim()
    await worker.settle()
    held = {row.kind: row.claimed_by for row in await list_work(database) if row.host_id == 0}
    assert held == {"retention": "", "watch": "a", "alerts": "a", "deliveries": "a"}
    await worker.close()
    assert spans(await told.incidents()) == [("closed", 30, 70)]
    assert {row.claimed_by for row in await list_work(database)} == {""}
