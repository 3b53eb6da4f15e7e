"""Some recorded cases as hosts of one server that reported until a while ago: series, minutes and incidents stored.

``served`` runs the API alone on them: no worker takes the incidents on, so that a page stands still.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gapscope_agent.recording.read import open_recording
from gapscope_agent.wire import Batch
from gapscope_backend.services import admin
from gapscope_backend.store.database import open_database
from tests.backend.batches import SECOND, Clock
from tests.browser.serving import CASES, Served
from tests.incidents.watching import Watching, recorded_batches
from tests.store.storing import compact_all

MINUTE_NS = 60 * SECOND
DAY_NS = 24 * 3600 * SECOND
AGO_NS = 20 * MINUTE_NS
RETIRED = "train-no-workers"
"""It reported three days ago."""
STALE = ("ddp-straggler", "image-service-pil", "no-traffic")


@dataclass(frozen=True)
class StoredFleet:
    """Start of the minute in which the recordings of the silent hosts begin, ms since the epoch."""

    minute_ms: int


def store_fleet(data: Path, silent: Sequence[str] = STALE) -> StoredFleet:
    """Write the recordings into the database of a data folder, as if their hosts had reported lately.

    Those that are ``silent`` ended a while ago, and ``RETIRED`` days ago.
    """
    start_ns = (time.time_ns() - AGO_NS) // MINUTE_NS * MINUTE_NS
    # A thread of its own: the browser's loop runs in this one.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, _store(admin.database_url(data), start_ns, silent)).result()
    return StoredFleet(start_ns // 1_000_000)


def _shifted(case: str, start_ns: int) -> list[Batch]:
    origin = open_recording(CASES / case).origin
    return recorded_batches(CASES / case, case, start_ns - origin.start_ns)


async def _store(url: str, start_ns: int, silent: Sequence[str]) -> None:
    database = await open_database(url)
    try:
        watching = Watching(database, Clock(0))
        await watching.deliver(_shifted(RETIRED, start_ns - 3 * DAY_NS))
        batches = [batch for case in silent for batch in _shifted(case, start_ns)]
        await watching.deliver(sorted(batches, key=lambda batch: batch.end_ns))
        await compact_all(database, watching.clock() + MINUTE_NS)
    finally:
        await database.close()


@contextmanager
def served(data: Path) -> Iterator[Served]:
    """The API with the page on a data folder, and a one-time address."""
    words = [sys.executable, "-m", "gapscope_backend.cli.main", "server", "--role", "api", "--data", str(data)]
    with subprocess.Popen(
        [*words, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            origin = _origin(process)
            with ThreadPoolExecutor(1) as thread:
                token = thread.submit(asyncio.run, admin.create_login(admin.database_url(data))).result()
            yield Served(origin, f"{origin}/login#token={token}")
        finally:
            process.terminate()
            process.wait(20)


def _origin(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        found = re.search(r"listening on (http://127\.0\.0\.1:\d+)", line)
        if found:
            return found[1]
    pytest.fail(f"gapscope server ended without an address:\n{said}")
