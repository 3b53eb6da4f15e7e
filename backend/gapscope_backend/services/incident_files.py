"""Incident files: written from a database, and opened from a private copy that is checked first."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import LAG_METRIC
from gapscope_backend.services.diagnosis import MAX_SPAN_NS, Diagnosis
from gapscope_backend.services.incidents import PINNED_AROUND_NS
from gapscope_backend.services.times import iso
from gapscope_backend.store.database import Database, open_database, sqlite_url
from gapscope_backend.store.foreign_file import check_contents, check_header
from gapscope_backend.store.hosts import list_hosts
from gapscope_backend.store.incident_file import incident_choice, write_file
from gapscope_backend.store.incidents import IncidentFilter, list_incidents
from gapscope_backend.store.models import Host, Incident

SUFFIX = ".gapscope"
MEDIA_TYPE = "application/vnd.gapscope.incident+sqlite3"
BYTES_AT_ONCE = 256 * 1024
KEPT_LATEST = frozenset({LAG_METRIC})
"""A verdict on a short span falls back on the newest lag that is known."""


@dataclass(frozen=True)
class OpenedFile:
    """The database of a file, what is in it, and the moment that is now for it (ns): the end of its data."""

    url: str
    database: Database
    host: Host
    incident: Incident
    now_ns: int

    @property
    def about(self) -> str:
        """A line for a terminal: which incident it is and what it said. It was written by others: no control codes."""
        incident, host = self.incident, self.host.name
        when = f"{iso(incident.start_ns)} to {iso(incident.end_ns)}"
        line = f"Incident {incident.id} of {host}, recorded {when}, {incident.state}: {incident.sentence}"
        return "".join(sign if sign.isprintable() else "?" for sign in line)


async def export_incident(database: Database, incident_id: str, path: Path) -> None:
    """Write an incident and the five minutes around it into a new file. Raises NotFoundError for an unknown one."""
    await write_file(database, incident_choice(incident_id, PINNED_AROUND_NS, KEPT_LATEST), path)


async def incident_bytes(database: Database, incident_id: str, scratch: Path) -> AsyncGenerator[bytes, None]:
    """The same as bytes, in pieces; the file stands in a private folder under ``scratch`` meanwhile."""
    with tempfile.TemporaryDirectory(dir=scratch, prefix="incident-") as folder:
        path = Path(folder) / "file"
        await export_incident(database, incident_id, path)
        with path.open("rb") as file:
            while piece := await asyncio.to_thread(file.read, BYTES_AT_ONCE):
                yield piece


@asynccontextmanager
async def opened_file(path: Path) -> AsyncIterator[OpenedFile]:
    """A private copy of a file as a database; the file itself is only read.

    Raises IncidentFileError, with what is wrong, for a file that cannot be trusted.
    """
    check_header(path)
    with tempfile.TemporaryDirectory(prefix="gapscope-") as name:
        folder = Path(name)
        copy = folder / path.name
        await asyncio.to_thread(shutil.copyfile, path, copy)
        check_header(copy)
        await check_contents(copy, folder)
        async with opened_own(copy) as (database, host):
            [(incident, _)] = await list_incidents(database, IncidentFilter(limit=2))
            yield OpenedFile(sqlite_url(copy), database, host, incident, host.last_data_ns)


@asynccontextmanager
async def opened_own(path: Path) -> AsyncIterator[tuple[Database, Host]]:
    """A file that this server wrote itself, as a database with its host; an older schema is upgraded in it."""
    database = await open_database(sqlite_url(path))
    try:
        [host] = await list_hosts(database)
        yield database, host
    finally:
        await database.close()


async def explain_file(opened: OpenedFile, start_ns: int | None, end_ns: int | None) -> Verdict:
    """The verdict on a span of a file: the incident's own, or its newest hour, where none is given."""
    end_ns = opened.incident.end_ns if end_ns is None else end_ns
    start_ns = max(opened.incident.start_ns, end_ns - MAX_SPAN_NS) if start_ns is None else start_ns
    return await Diagnosis(opened.database, diagnose).diagnose(opened.host, start_ns, end_ns)
