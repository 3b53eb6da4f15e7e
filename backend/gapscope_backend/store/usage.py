"""Bytes that hosts hold, by kind, and how many of them came in lately: what a forecast is made of.

Counted is the content of rows; keys, indexes and unfilled pages come on top and are in ``used_bytes`` of the whole
database only. This reads a row of every chunk there is, though not its data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, Executable, and_, case, func, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from gapscope_backend.store.database import Database
from gapscope_backend.store.engine import SQLITE
from gapscope_backend.store.models import Chunk, DeviceMinute, Host, Incident, IngestHot, SharePiece, Stack, StackChunk
from gapscope_backend.store.retention import Retention, unpinned
from gapscope_backend.store.tiers import RAW, SECOND_NS, TIERS

HOT, RAW_KIND, STACKS, MINUTES, INCIDENTS = "hot", "raw", "stacks", "minutes", "incidents"
TIER_KINDS = {tier.seconds: name for tier, name in zip(TIERS, ("10s", "5min"), strict=True)}
KINDS = (HOT, RAW_KIND, *TIER_KINDS.values(), STACKS, MINUTES, INCIDENTS)

MINUTE_BYTES = 143
"""Of a row of ``device_minute`` beside the key of its device, all figures there: measured in SQLite."""
SETTLED_NS = 600 * SECOND_NS
"""What came in longer ago is in chunks; the growth is measured up to then."""
DAY_NS = 86_400 * SECOND_NS


@dataclass(frozen=True)
class KindUsage:
    """What a host holds of a kind.

    ``recent_bytes`` came in during ``window_ns`` and are there still; ``outlived_bytes`` are kept beyond the retention
    by pins; ``later_half_bytes`` would go with half the retention.
    """

    total_bytes: int
    recent_bytes: int = 0
    window_ns: int = 0
    outlived_bytes: int = 0
    later_half_bytes: int = 0


@dataclass(frozen=True)
class HostUsage:
    """A host: its kinds, and how long it has been known."""

    name: str
    known_ns: int
    kinds: Mapping[str, KindUsage]


@dataclass(frozen=True)
class Usage:
    """A database: what its file or files take on the disk, without pages that are free, and its hosts by name."""

    used_bytes: int
    hosts: list[HostUsage]


async def read_usage(database: Database, keep: Retention, now_ns: int) -> Usage:
    """Measure everything in one snapshot."""
    async with database.read() as session:
        used = await _used_bytes(session, database.dialect)
        hosts = (await session.execute(select(Host.id, Host.name, Host.first_seen_ns).order_by(Host.name))).all()
        found: dict[int, dict[str, KindUsage]] = {key: {} for key, _, _ in hosts}
        for aged in _aged(keep):
            for host_id, *sums in await session.execute(aged.query(now_ns)):
                total, recent, outlived, later_half = (int(value or 0) for value in sums)
                found[host_id][aged.kind] = KindUsage(total, recent, aged.window_ns, outlived, later_half)
        for kind, query in _totals():
            for host_id, total in await session.execute(query):
                before = found[host_id].get(kind, KindUsage(0))
                found[host_id][kind] = replace(before, total_bytes=before.total_bytes + int(total or 0))
    return Usage(used, [HostUsage(name, max(0, now_ns - seen), found[key]) for key, name, seen in hosts])


@dataclass(frozen=True)
class _Aged:
    """Rows that a retention is about."""

    kind: str
    model: type[Chunk] | type[StackChunk] | type[DeviceMinute]
    size: ColumnElement[int]
    kept_ns: int
    which: tuple[ColumnElement[bool], ...] = ()
    left: tuple[ColumnElement[bool], ...] = ()
    """What retention takes, but for pins."""

    @property
    def window_ns(self) -> int:
        """A day, or what is left of a shorter retention."""
        return max(SECOND_NS, min(DAY_NS, self.kept_ns - 2 * SETTLED_NS))

    def query(self, now_ns: int) -> Executable:
        """By host: bytes in all, in the window, beyond the retention, in its later half."""
        received, end_ns = self.model.received_ns, now_ns - SETTLED_NS
        old_ns, half_ns = now_ns - self.kept_ns, now_ns - self.kept_ns // 2
        parts = (
            and_(received > end_ns - self.window_ns, received <= end_ns),
            received < old_ns,
            and_(received >= old_ns, received < half_ns, *self.left),
        )
        sums = (func.sum(case((part, self.size), else_=0)) for part in parts)
        query = select(self.model.host_id, func.sum(self.size), *sums)
        return query.where(*self.which).group_by(self.model.host_id)


def _aged(keep: Retention) -> list[_Aged]:
    data, stacks = func.length(Chunk.data), func.length(StackChunk.data)
    minute = func.length(DeviceMinute.device) + MINUTE_BYTES
    return [
        _Aged(RAW_KIND, Chunk, data, keep.raw_ns, (Chunk.tier == RAW,), (unpinned(Chunk),)),
        *(_Aged(TIER_KINDS[s], Chunk, data, kept_ns, (Chunk.tier == s,)) for s, kept_ns in keep.tiers_ns.items()),
        _Aged(STACKS, StackChunk, stacks, keep.raw_ns, (), (unpinned(StackChunk),)),
        _Aged(MINUTES, DeviceMinute, minute, keep.minutes_ns),
    ]


def _totals() -> list[tuple[str, Executable]]:
    """Of each kind without an age, or with more than its chunks: bytes by host."""
    sizes = (
        (HOT, IngestHot, func.length(IngestHot.payload)),
        (STACKS, Stack, func.length(Stack.frames)),
        (INCIDENTS, SharePiece, func.length(SharePiece.data)),
        (INCIDENTS, Incident, func.length(Incident.verdict) + func.length(Incident.sentence)),
    )
    return [(kind, select(model.host_id, func.sum(size)).group_by(model.host_id)) for kind, model, size in sizes]


async def engine_facts(database: Database) -> tuple[str, int]:
    """The engine's own version, and what the database takes on disk."""
    query = "SELECT sqlite_version()" if database.dialect == SQLITE else "SELECT current_setting('server_version')"
    async with database.read() as session:
        return str(await session.scalar(text(query))), await _used_bytes(session, database.dialect)


async def _used_bytes(session: AsyncSession, dialect: str) -> int:
    if dialect == SQLITE:
        query = (
            "SELECT (page_count - freelist_count) * page_size "
            "FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
        )
    else:
        query = "SELECT pg_database_size(current_database())"
    return int(await session.scalar(text(query)) or 0)
