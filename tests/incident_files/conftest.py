"""A host with one closed incident, its data half in chunks and half in hot batches, beside a host that is not its."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from gapscope_agent.wire import Batch, Event, WireFrame
from gapscope_backend.services import access
from gapscope_backend.services.incident_files import export_incident
from gapscope_backend.store.compaction import compact, due_slots
from gapscope_backend.store.database import Database, connect, sqlite_url
from gapscope_backend.store.engine import SQLITE
from gapscope_backend.store.models import Annotation, Incident
from tests.backend.batches import SECOND, BatchMaker, Clock, group
from tests.incidents.story import START, Story, batches
from tests.incidents.watching import Watching
from tests.store.storing import host_id_of, store

SECONDS = 1080


@dataclass
class Source:
    """The database that the file was made of, the incident, and the file."""

    database: Database
    incident: Incident
    host_id: int
    file: Path


def with_stacks(maker: BatchMaker, at: int) -> Batch:
    """Ten seconds of a core, with stacks and an event, from second ``at`` on."""
    begin = START + at * SECOND
    frames = [WireFrame("load", "/srv/data.py", 10 + at // 60, None), WireFrame("main", "/srv/app.py", 1, None)]
    return maker.make(
        begin,
        begin + 10 * SECOND,
        [group("core:0", begin, SECOND, cpu_core_busy_ratio=np.full(10, 0.5))],
        stacks=[(begin + n * SECOND, 100, 100, True, frames) for n in range(5)],
        events=[Event(begin, "process_start", f"at {at}")],
    )


_FILLED: list[sqlite3.Connection] = []


async def fill(database: Database) -> Incident:
    """An incident from second 420 to 480 of 18 minutes of node-1; made once for SQLite, then copied."""
    path = database.engine.url.database
    if database.dialect != SQLITE or path is None:
        return await _fill(database)
    if not _FILLED:
        await _fill(database)
        _FILLED.append(sqlite3.connect(":memory:"))
        with closing(sqlite3.connect(path)) as file:
            file.backup(_FILLED[0])
    else:
        with closing(sqlite3.connect(path)) as file:
            _FILLED[0].backup(file)
    async with database.read() as session:
        return (await session.scalars(select(Incident))).one()


async def _fill(database: Database) -> Incident:
    watching = Watching(database, Clock(0), Story())
    await watching.deliver(batches((420, 0.9), (60, 0.02), (600, 0.9), seconds=60))
    await watching.deliver(batches((60, 0.9), host="node-2", seconds=60))
    maker = BatchMaker(run_id="with-stacks")
    await store(database, *(with_stacks(maker, at) for at in range(0, SECONDS, 60)), now_ns=watching.clock())
    for due in (await due_slots(database, watching.clock() + 3600 * SECOND, 100))[::2]:
        assert await compact(database, due)
    await access.create_token(database, "read", "*", "secret", watching.clock())
    [incident] = await watching.incidents()
    async with database.write() as session:
        told = {"kind": "deploy", "made_ns": 1, "made_by": "ann"}
        for name, at in (("in", 440), ("out", 1000)):
            when = START + at * SECOND
            session.add(Annotation(host_id=incident.host_id, id=name, start_ns=when, end_ns=when, text=name, **told))
    return incident


@pytest.fixture
async def source(database: Database, tmp_path: Path) -> Source:
    incident = await fill(database)
    file = tmp_path / "one.gapscope"
    await export_incident(database, incident.id, file)
    return Source(database, incident, await host_id_of(database), file)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, empty_file: Path) -> tuple[Path, Path]:
    """A database with an incident and its file, made once; tests work on copies."""
    folder = tmp_path_factory.mktemp("made")
    shutil.copy(empty_file, folder / "gapscope.db")

    async def make() -> None:
        database = connect(sqlite_url(folder / "gapscope.db"))
        incident = await fill(database)
        await export_incident(database, incident.id, folder / "one.gapscope")
        await database.close()

    asyncio.run(make())
    return folder / "gapscope.db", folder / "one.gapscope"


@pytest.fixture
def file(made: tuple[Path, Path], tmp_path: Path) -> Path:
    """A copy of an incident file."""
    return Path(shutil.copy(made[1], tmp_path / "one.gapscope"))
