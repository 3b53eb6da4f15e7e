"""Shares: links to a frozen incident, or to a frozen span of a host.

What a link shows is the content of an incident file, made when the link was made and kept in the database; it is read
by the readers of every other database, at the moment at which its data ends. So retention cannot change it, and
whoever has a link reaches nothing beside it. The link holds 160 random bits, which are stored as SHA-256.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import tempfile
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncSession

from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Window
from gapscope_backend.errors import BusyError, GoneError, NotFoundError, UnprocessableError
from gapscope_backend.services.diagnosis import Diagnosis
from gapscope_backend.services.incident_files import KEPT_LATEST, opened_own
from gapscope_backend.services.incidents import PINNED_AROUND_NS
from gapscope_backend.services.times import iso
from gapscope_backend.store.database import Database
from gapscope_backend.store.incident_file import Choose, FileChoice, incident_choice, write_file
from gapscope_backend.store.incidents import incident_of
from gapscope_backend.store.models import Host, Share
from gapscope_backend.store.shares import add_share, revoke_share, share_of_hash, share_pieces

LINK_BYTES = 20
DAY_NS = 24 * 3600 * 1_000_000_000
MAX_SPAN_NS = 6 * 3600 * 1_000_000_000
"""Of a shared span: what a flame graph can be asked about."""
MAX_BYTES = 256 << 20
"""Of what a link shows."""
OPEN_AT_ONCE = 8
"""Shares that stay open for the next request."""
MADE_AT_ONCE = 2
SERVED_AT_ONCE = 4
"""Requests of all links together, so that a public one that many open leaves room for those who work here."""
MOST_WAITING = 64


@dataclass(frozen=True)
class ShareWish:
    """How a link is to be: the query with which the page opens, whether a login is asked for, and for how long."""

    view: str
    public: bool
    days: int
    user: str


@dataclass(frozen=True)
class Frozen:
    """What a share shows, as a database that tells of nothing beside it; ``now_ns`` is the moment that is now in it."""

    database: Database
    diagnosis: Diagnosis
    now_ns: int


@dataclass
class _Held:
    """A share that is open, and by how many requests."""

    frozen: Frozen
    stack: AsyncExitStack
    users: int = 0


@dataclass
class Shares:
    """The shares in a database. Files stand in private folders under ``scratch`` while they are open."""

    database: Database
    analyse: Callable[[Window], Verdict]
    scratch: Path
    _open: OrderedDict[str, _Held] = field(default_factory=OrderedDict)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    _serving: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(SERVED_AT_ONCE))
    _waiting: int = 0
    _making: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MADE_AT_ONCE))

    async def share_incident(self, incident_id: str, wish: ShareWish, now_ns: int) -> str:
        """Freeze an incident with the five minutes around it: the secret of the link, shown this once.

        Raises NotFoundError for an unknown incident and UnprocessableError for one with too much data.
        """
        found = await incident_of(self.database, incident_id)
        if found is None:
            raise NotFoundError(f"no incident {incident_id[:40]!r}; GET /api/v1/incidents lists them", "incident")
        incident = found[0]
        link, share = _new(incident.host_id, incident.start_ns, incident.end_ns, wish, now_ns)
        share.incident = incident.id
        await self._freeze(share, incident_choice(incident.id, PINNED_AROUND_NS, KEPT_LATEST))
        return link

    async def share_span(self, host: Host, start_ns: int, end_ns: int, wish: ShareWish, now_ns: int) -> str:
        """Freeze [start, end) of a host, the part of it that is stored; the same as for an incident otherwise."""
        start_ns, end_ns = max(start_ns, host.first_data_ns), min(end_ns, host.last_data_ns)
        if start_ns >= end_ns:
            raise UnprocessableError(f"nothing is stored of {host.name} in that time", "from")
        if end_ns - start_ns > MAX_SPAN_NS:
            raise UnprocessableError("a share spans at most six hours; choose a shorter from and to", "from")
        link, share = _new(host.id, start_ns, end_ns, wish, now_ns)

        async def choose(_source: AsyncSession) -> FileChoice:
            return FileChoice(host.id, start_ns, end_ns, keep_latest=KEPT_LATEST)

        await self._freeze(share, choose)
        return link

    async def _freeze(self, share: Share, choose: Choose) -> None:
        async def chosen(source: AsyncSession) -> FileChoice:
            return replace(await choose(source), hushed=share.public, as_recorded=False)

        if self._making.locked():
            raise BusyError(f"{MADE_AT_ONCE} shares are being made already; ask again in some seconds")
        async with self._making:
            with tempfile.TemporaryDirectory(dir=self.scratch, prefix="share-") as folder:
                path = Path(folder) / "file"
                await write_file(self.database, chosen, path)
                share.size_bytes = path.stat().st_size
                if share.size_bytes > MAX_BYTES:
                    raise UnprocessableError(
                        f"this takes {share.size_bytes:,} bytes, a share at most {MAX_BYTES:,}; choose a shorter span"
                    )
                await add_share(self.database, share, path)

    async def find(self, link: str, now_ns: int) -> tuple[Share, str]:
        """The share behind a link's secret, with its host's name.

        Raises NotFoundError for an unknown link and GoneError for one that was revoked or has expired.
        """
        found = await share_of_hash(self.database, _hash(link))
        if found is None:
            raise NotFoundError("there is no such share: the link was cut short, or is older than a year", "link")
        share = found[0]
        if share.revoked_ns is not None:
            raise GoneError(f"this share was revoked on {iso(share.revoked_ns)}; ask for a new link", "link")
        if share.expires_ns <= now_ns:
            raise GoneError(f"this share expired on {iso(share.expires_ns)}; ask for a new link", "link")
        return found

    async def revoke(self, share_id: str, now_ns: int) -> None:
        """End a share now. Raises NotFoundError where there is none of that id."""
        if not await revoke_share(self.database, share_id, now_ns):
            raise NotFoundError(f"no share {share_id[:40]!r}; GET /api/v1/shares lists them", "share")
        async with self._opening:
            held = self._open.get(share_id)
            if held is not None and not held.users:
                await self._open.pop(share_id).stack.aclose()

    @asynccontextmanager
    async def opened(self, share: Share) -> AsyncIterator[Frozen]:
        """What a share shows, open as long as the block lasts, and after it until others are wanted more.

        Only so many blocks run at once. Raises BusyError when too many wait already.
        """
        if self._waiting >= MOST_WAITING:
            raise BusyError("too many requests for shares at once; ask again in some seconds")
        self._waiting += 1
        try:
            await self._serving.acquire()
        finally:
            self._waiting -= 1
        try:
            held = await self._hold(share)
            try:
                yield held.frozen
            finally:
                held.users -= 1
        finally:
            self._serving.release()

    async def close(self) -> None:
        """Close what is open."""
        for held in self._open.values():
            await held.stack.aclose()
        self._open.clear()

    async def _hold(self, share: Share) -> _Held:
        async with self._opening:
            held = self._open.get(share.id)
            if held is None:
                await self._make_room()
                held = self._open[share.id] = await self._unpack(share)
            self._open.move_to_end(share.id)
            held.users += 1
        return held

    async def _make_room(self) -> None:
        unused = [key for key, held in self._open.items() if not held.users]
        for key in unused[: max(0, len(self._open) - OPEN_AT_ONCE + 1)]:
            await self._open.pop(key).stack.aclose()

    async def _unpack(self, share: Share) -> _Held:
        async with AsyncExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(dir=self.scratch, prefix="share-"))
            path = Path(folder) / "file"
            with path.open("wb") as file:
                async for piece in share_pieces(self.database, share):
                    await asyncio.to_thread(file.write, piece)
            if not path.stat().st_size:
                raise GoneError("this share was just revoked; ask for a new link", "link")
            database, host = await stack.enter_async_context(opened_own(path))
            database.reach = (host.first_data_ns, host.last_data_ns)
            frozen = Frozen(database, Diagnosis(database, self.analyse), host.last_data_ns)
            return _Held(frozen, stack.pop_all())


def _new(host_id: int, start_ns: int, end_ns: int, wish: ShareWish, now_ns: int) -> tuple[str, Share]:
    link = secrets.token_hex(LINK_BYTES)
    share = Share(
        host_id=host_id,
        id=secrets.token_hex(8),
        hash=_hash(link),
        incident="",
        start_ns=start_ns,
        end_ns=end_ns,
        view=wish.view,
        public=wish.public,
        made_ns=now_ns,
        made_by=wish.user,
        expires_ns=now_ns + wish.days * DAY_NS,
        revoked_ns=None,
        size_bytes=0,
    )
    return link, share


def _hash(link: str) -> str:
    return hashlib.sha256(link.encode(errors="surrogateescape")).hexdigest()
