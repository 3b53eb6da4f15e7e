"""An empty database and the watch over it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Window
from gapscope_backend.store.database import Database, connect, open_database, sqlite_url
from tests.backend.batches import Clock
from tests.incidents.watching import Watching


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file with the newest schema; copying it is cheaper than migrating anew for each test."""
    path = tmp_path_factory.mktemp("schema") / "gapscope.db"

    async def make() -> None:
        await (await open_database(sqlite_url(path))).close()

    asyncio.run(make())
    return path


@pytest.fixture
async def database(tmp_path: Path, empty_file: Path) -> AsyncIterator[Database]:
    shutil.copy(empty_file, tmp_path / "gapscope.db")
    opened = connect(sqlite_url(tmp_path / "gapscope.db"))
    yield opened
    await opened.close()


@pytest.fixture
def analyse() -> Callable[[Window], Verdict]:
    return diagnose


@pytest.fixture
def watching(database: Database, analyse: Callable[[Window], Verdict]) -> Watching:
    return Watching(database, Clock(0), analyse)
