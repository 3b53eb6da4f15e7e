"""Claimable work: one worker at a time has a job, a dead one's goes to another, and a worker keeps to its plan."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from gapscope_backend.errors import BusyError
from gapscope_backend.services.worker import AT_ONCE, LEASE_SECONDS, JobKind, Tools, Worker
from gapscope_backend.store.database import Database, connect
from gapscope_backend.store.models import Host
from gapscope_backend.store.retention import Retention
from gapscope_backend.store.work import (
    ALL_HOSTS,
    Lease,
    LeaseLostError,
    add_work,
    claim_work,
    finish_work,
    hold_lease,
    list_work,
    release_leases,
    renew_leases,
)
from tests.backend.batches import NOW, SECOND, Clock, fake_verdict

LEASE_NS = 30 * SECOND
WORKERS = 6
HOSTS = 20

pytestmark = pytest.mark.both_engines


async def add_hosts(database: Database, count: int) -> None:
    async with database.write() as session:
        session.add_all(
            Host(
                name=f"node-{number}",
                recorded=False,
                agent_version="1",
                labels={},
                accounting={},
                has_stacks=False,
                first_seen_ns=NOW,
                last_seen_ns=NOW,
                first_data_ns=NOW,
                last_data_ns=NOW,
            )
            for number in range(count)
        )


async def claim(database: Database, worker: str, now_ns: int = NOW, limit: int = 100) -> list[Lease]:
    return await claim_work(database, worker, ["pack"], now_ns, LEASE_NS, limit)


async def test_workers_that_claim_at_once_share_the_work(database: Database, database_url: str) -> None:
    await add_hosts(database, HOSTS)
    await add_work(database, "pack", True, NOW)
    pools = [connect(database_url) for _ in range(WORKERS)]
    rounds = [claim(pool, f"worker-{number}", limit=3) for number, pool in enumerate(pools) for _ in range(3)]
    claimed = [lease.host_id for leases in await asyncio.gather(*rounds) for lease in leases]
    claimed += [lease.host_id for lease in await claim(database, "worker-last")]
    assert sorted(claimed) == sorted({row.host_id for row in await list_work(database)})
    assert len(claimed) == HOSTS
    for pool in pools:
        await pool.close()


async def test_jobs_are_made_once(database: Database, database_url: str) -> None:
    await add_hosts(database, 2)
    other = connect(database_url)
    await asyncio.gather(*(add_work(pool, "pack", True, NOW) for pool in (database, other) for _ in range(4)))
    await add_work(database, "sweep", False, NOW)
    await add_work(database, "sweep", False, NOW)
    assert [(row.kind, row.host_id > 0) for row in await list_work(database)] == [
        ("pack", True),
        ("pack", True),
        ("sweep", False),
    ]
    await other.close()


async def test_a_job_is_not_due_before_its_time(database: Database) -> None:
    await add_work(database, "pack", False, NOW)
    (lease,) = await claim(database, "a")
    await finish_work(database, lease, NOW + 10 * SECOND, NOW)
    assert await claim(database, "a", NOW + 9 * SECOND) == []
    assert await claim(database, "b", NOW + 10 * SECOND) == [Lease("pack", ALL_HOSTS, "b")]


async def test_a_dead_workers_job_goes_to_another(database: Database) -> None:
    await add_work(database, "pack", False, NOW)
    (lost,) = await claim(database, "a")
    assert await claim(database, "b", NOW + LEASE_NS - 1) == []
    (held,) = await claim(database, "b", NOW + LEASE_NS)
    with pytest.raises(LeaseLostError, match="another worker"):
        await finish_work(database, lost, NOW, NOW)
    with pytest.raises(LeaseLostError):
        async with database.write() as session:
            await hold_lease(session, lost)
    async with database.write() as session:
        await hold_lease(session, held)


async def test_a_lease_that_is_renewed_does_not_run_out(database: Database) -> None:
    await add_work(database, "pack", False, NOW)
    await claim(database, "a")
    job = ("pack", ALL_HOSTS)
    assert await renew_leases(database, "a", [job], NOW + 2 * LEASE_NS) == {job}
    assert await claim(database, "b", NOW + LEASE_NS) == []
    assert await renew_leases(database, "b", [job], NOW + 2 * LEASE_NS) == set()


async def test_what_is_being_written_under_a_lease_is_not_taken_over(database: Database, database_url: str) -> None:
    await add_work(database, "pack", False, NOW)
    (lease,) = await claim(database, "a")
    other = connect(database_url)
    async with database.write() as session:
        await hold_lease(session, lease)
        taking = asyncio.create_task(claim(other, "b", NOW + LEASE_NS))
        if database.dialect == "postgresql":  # passes over the row; SQLite waits for the writer
            assert await taking == []
    if database.dialect == "sqlite":
        assert await taking == [Lease("pack", ALL_HOSTS, "b")]
    await other.close()


@dataclass
class Done:
    """A job that tells what it did, and fails when it is told to."""

    hosts: list[int] = field(default_factory=list)
    fails: int = 0
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.go_on.set()

    async def __call__(self, _tools: Tools, lease: Lease) -> None:
        self.hosts.append(lease.host_id)
        await self.go_on.wait()
        if self.fails:
            self.fails -= 1
            raise ValueError("cannot be done")


@pytest.fixture
def done() -> Done:
    return Done()


@pytest.fixture
async def worker(database: Database, clock: Clock, done: Done) -> AsyncIterator[Worker]:
    made = Worker(tools(database, clock), [JobKind("pack", 60.0, done)], "a")
    yield made
    await made.close()


def tools(database: Database, clock: Clock) -> Tools:
    return Tools(database, clock, clock.monotonic, fake_verdict, Retention())


async def turn(worker: Worker) -> None:
    await worker.claim()
    await worker.settle()


async def test_a_job_comes_again_every_period(worker: Worker, clock: Clock, done: Done) -> None:
    for _ in range(13):
        await turn(worker)
        clock.advance(10)
    assert len(done.hosts) == 3
    (row,) = await list_work(worker.tools.database)
    assert (row.claimed_by, row.failures, row.done_ns) == ("", 0, NOW + 120 * SECOND)


async def test_a_job_that_fails_comes_again_ever_later(
    worker: Worker, clock: Clock, done: Done, caplog: pytest.LogCaptureFixture
) -> None:
    done.fails, times = 3, []
    with caplog.at_level(logging.CRITICAL):
        for second in range(0, 600, 10):
            before = len(done.hosts)
            await turn(worker)
            times += [second] * (len(done.hosts) - before)
            clock.advance(10)
    assert times[:4] == [0, 60, 180, 420]
    assert (await list_work(worker.tools.database))[0].failures == 0


async def test_each_host_has_its_job_and_few_run_at_once(database: Database, clock: Clock, done: Done) -> None:
    await add_hosts(database, 5)
    worker = Worker(tools(database, clock), [JobKind("pack", 60.0, done, per_host=True)], "a")
    done.go_on.clear()
    await worker.claim()
    await worker.claim()
    await asyncio.sleep(0)
    assert len(done.hosts) == AT_ONCE
    done.go_on.set()
    for _ in range(3):
        await turn(worker)
    assert sorted(done.hosts) == sorted({row.host_id for row in await list_work(database)})
    assert len(done.hosts) == 5
    await worker.close()


async def test_a_worker_that_was_held_up_ends_what_another_took(
    database: Database, clock: Clock, done: Done, caplog: pytest.LogCaptureFixture
) -> None:
    kinds = [JobKind("watch", 1.0, done, endless=True)]
    first, second = (Worker(tools(database, clock), kinds, name) for name in ("a", "b"))
    done.go_on.clear()
    await first.claim()
    clock.advance(LEASE_SECONDS - 1)
    await first.renew()
    await second.claim()
    assert len(await list_work(database)) == 1
    clock.advance(LEASE_SECONDS + 1)
    await second.claim()
    await asyncio.sleep(0)
    assert len(done.hosts) == 2
    with caplog.at_level(logging.CRITICAL):
        await first.renew()
    (row,) = await list_work(database)
    assert row.claimed_by == "b"
    await first.close()
    (row,) = await list_work(database)
    assert row.claimed_by == "b"
    await second.close()
    assert [row.claimed_by for row in await list_work(database)] == [""]


async def test_a_worker_takes_back_what_its_killed_predecessor_held(
    database: Database, clock: Clock, done: Done
) -> None:
    await add_work(database, "pack", False, NOW)
    await claim_work(database, "a", ["pack"], NOW, LEASE_NS, 1)
    await release_leases(database, "b")
    worker = Worker(tools(database, clock), [JobKind("pack", 60.0, done)], "a")
    await turn(worker)
    assert done.hosts == []
    stop = asyncio.Event()
    stop.set()
    await worker.run(stop)
    await turn(worker)
    assert done.hosts == [ALL_HOSTS]


async def test_a_job_whose_end_was_lost_is_done_again(
    worker: Worker, clock: Clock, done: Done, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise BusyError("the database is away")

    with monkeypatch.context() as patched, caplog.at_level(logging.CRITICAL):
        patched.setattr("gapscope_backend.services.worker.finish_work", broken)
        await turn(worker)
    for _ in range(4):
        clock.advance(LEASE_SECONDS / 3)
        await worker.renew()
        await turn(worker)
    assert len(done.hosts) == 2
    assert (await list_work(worker.tools.database))[0].claimed_by == ""
