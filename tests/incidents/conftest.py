"""An empty database and the watch over it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Window
from gapscope_backend.store.database import Database
from tests.backend.batches import Clock
from tests.incidents.watching import Watching


@pytest.fixture
def analyse() -> Callable[[Window], Verdict]:
    return diagnose


@pytest.fixture
def watching(database: Database, analyse: Callable[[Window], Verdict]) -> Watching:
    return Watching(database, Clock(0), analyse)
