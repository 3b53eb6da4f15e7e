"""Several processes on one database at once: each of these opens its own pool, as a process would."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator

import numpy as np
import pytest
from sqlalchemy import func, select

from gapscope_agent.wire import Batch, Entity, Event, encode
from gapscope_backend.services.ingest import Ingest
from gapscope_backend.store.database import Database, connect
from gapscope_backend.store.models import Base, Host, IngestHot
from gapscope_backend.store.models import Entity as EntityRow
from gapscope_backend.store.models import Event as EventRow
from tests.backend.batches import GPU, NOW, SECOND, TICK, BatchMaker, group

PROCESSES = 4
HOSTS = 5
BATCHES = 4

pytestmark = pytest.mark.both_engines


@pytest.fixture
async def processes(database_url: str) -> AsyncIterator[list[Database]]:
    opened = [connect(database_url) for _ in range(PROCESSES)]
    yield opened
    for database in opened:
        await database.close()


def batches(host: int) -> list[Batch]:
    maker = BatchMaker(host=f"node-{host}", run_id=f"run-0000-{host}")
    starts = [NOW - (BATCHES - at) * SECOND for at in range(BATCHES)]
    return [
        maker.make(
            start,
            start + SECOND,
            [group(GPU, start, TICK, gpu_power_watts=np.ones(10))],
            entities=[Entity(GPU, "gpu", {f"told_{at}": "yes"})],
            events=[Event(start, "process_start", "python")],
        )
        for at, start in enumerate(starts)
    ]


async def count(database: Database, model: type[Base]) -> int:
    async with database.read() as session:
        return await session.scalar(select(func.count()).select_from(model)) or 0


async def test_the_same_batches_of_the_same_new_hosts_are_stored_once(processes: list[Database]) -> None:
    sent = [batch for host in range(HOSTS) for batch in batches(host)]
    ingests = [Ingest(database) for database in processes]
    answers = await asyncio.gather(
        *(ingest.take(encode(batch), "identity", "*", NOW) for batch, ingest in itertools.product(sent, ingests))
    )
    assert sum(not answer.duplicate for answer in answers) == len(sent)
    expected = {Host: HOSTS, IngestHot: len(sent), EventRow: len(sent), EntityRow: HOSTS}
    assert {model: await count(processes[0], model) for model in expected} == expected


async def test_nothing_of_batches_stored_at_once_is_lost(processes: list[Database]) -> None:
    sent = batches(0)
    await asyncio.gather(
        *(
            Ingest(database).take(encode(batch), "identity", "*", NOW + at)
            for at, (batch, database) in enumerate(zip(sent, processes, strict=True))
        )
    )
    async with processes[0].read() as session:
        host = (await session.scalars(select(Host))).one()
        entity = (await session.scalars(select(EntityRow))).one()
    assert (host.first_data_ns, host.last_data_ns) == (sent[0].start_ns, sent[-1].end_ns)
    assert host.last_seen_ns == NOW + BATCHES - 1
    assert entity.labels == {f"told_{at}": "yes" for at in range(BATCHES)}


async def test_a_reader_sees_one_moment(processes: list[Database]) -> None:
    first, second = batches(0)[:2]
    await Ingest(processes[0]).take(encode(first), "identity", "*", NOW)
    async with processes[1].read() as session:
        before = await session.scalar(select(func.count()).select_from(IngestHot))
        await Ingest(processes[0]).take(encode(second), "identity", "*", NOW)
        assert await session.scalar(select(func.count()).select_from(IngestHot)) == before == 1
    assert await count(processes[1], IngestHot) == 2
