"""How full the database is, how fast it grows, when its disk is full, and what a shorter retention would free.

Everything is measured: bytes from the rows that are there, growth from what came in during the last day. Where too
little has come in to tell, the forecast is None and ``state`` says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict

import msgspec

from gapscope_backend.store.database import Database
from gapscope_backend.store.disk import DiskGuard
from gapscope_backend.store.retention import HOUR_NS, Retention
from gapscope_backend.store.usage import (
    DAY_NS,
    KINDS,
    MINUTES,
    RAW_KIND,
    SETTLED_NS,
    STACKS,
    TIER_KINDS,
    HostUsage,
    KindUsage,
    Usage,
    read_usage,
)

LEAST_HISTORY_NS = HOUR_NS
"""A host that is known for less tells nothing of a day."""
MEANINGFUL_BYTES = 32 * 1024 * 1024
"""Below this content the empty tables weigh more than what is in them."""
REMEMBERED_NS = 60_000_000_000

MEASURED, SHORT, NONE = "measured", "short_history", "not_enough_history"
SETTINGS = {
    "raw_hours": ("retention_hours", (RAW_KIND, STACKS)),
    "ten_seconds_days": ("retention_10s_days", (TIER_KINDS[10],)),
    "five_minutes_days": ("retention_5min_days", (TIER_KINDS[300],)),
    "minutes_days": ("retention_minutes_days", (MINUTES,)),
}
"""Fields of ``Retention``: the server's setting, and the kinds that it is about."""


class KindCapacity(msgspec.Struct):
    """A kind of data over all hosts. ``kept_days`` None: it has no retention of its own."""

    kind: str
    size_bytes: int
    growth_bytes_per_day: float | None
    kept_days: float | None
    steady_bytes: float | None
    pinned_bytes: int


class HostCapacity(msgspec.Struct):
    """What a host holds and adds; the growth is None where it is known for too short a time."""

    host: str
    size_bytes: int
    growth_bytes_per_day: float | None


class SettingCapacity(msgspec.Struct):
    """A retention cut to a half: what would go at once, and how much smaller the steady state would be."""

    setting: str
    now: float
    instead: float
    frees_bytes: int
    steady_frees_bytes: float | None


class Capacity(msgspec.Struct):
    """A database's room. ``state`` is ``measured`` (a day of history), ``short_history`` or ``not_enough_history``.

    Sizes of kinds, hosts and settings are content; ``overhead_ratio`` is what the database takes on disk for a byte of
    it (None while it is nearly empty). ``days_until_full`` None: it is not known, or ``fills`` is false.
    """

    database: str
    state: str
    measured_seconds: float
    used_bytes: int
    content_bytes: int
    overhead_ratio: float | None
    free_bytes: int | None
    read_only: bool
    growth_bytes_per_day: float | None
    steady_bytes: float | None
    fills: bool | None
    days_until_full: float | None
    kinds: list[KindCapacity]
    hosts: list[HostCapacity]
    settings: list[SettingCapacity]


class Capacities:
    """Forecasts for requests, one at a time and remembered for a while: each goes through all chunks."""

    def __init__(self, database: Database, keep: Retention, guard: DiskGuard, clock: Callable[[], int]) -> None:
        self._database = database
        self._keep = keep
        self._guard = guard
        self._clock = clock
        self._lock = asyncio.Lock()
        self._known: tuple[int, Usage] | None = None

    async def tell(self, limit_bytes: int | None = None) -> Capacity:
        """The capacity; ``limit_bytes`` is what a database may take whose disk is not seen from here."""
        async with self._lock:
            now_ns = self._clock()
            if self._known is None or now_ns - self._known[0] > REMEMBERED_NS:
                self._known = (now_ns, await read_usage(self._database, self._keep, now_ns))
        space = await self._guard.space()
        usage = self._known[1]
        free = None if space is None else space.free_bytes
        if limit_bytes is not None:
            free = max(0, limit_bytes - usage.used_bytes)
        return forecast(usage, self._keep, self._database.dialect, free, self._guard.read_only)


def forecast(usage: Usage, keep: Retention, dialect: str, free_bytes: int | None, read_only: bool = False) -> Capacity:
    """What follows from a database's bytes and its growth."""
    measured = [host for host in usage.hosts if host.known_ns >= LEAST_HISTORY_NS + SETTLED_NS]
    longest_ns = max((host.known_ns - SETTLED_NS for host in measured), default=0)
    kinds = [_kind(name, usage.hosts, measured, keep) for name in KINDS]
    content = sum(kind.size_bytes for kind in kinds)
    overhead = usage.used_bytes / content if content >= MEANINGFUL_BYTES else None
    fills, days = _until_full(kinds, free_bytes, overhead or 1.0) if measured else (None, None)
    rates = [kind.growth_bytes_per_day for kind in kinds]
    steady = [kind.steady_bytes for kind in kinds]
    return Capacity(
        database=dialect,
        state=NONE if not measured else MEASURED if longest_ns >= DAY_NS else SHORT,
        measured_seconds=min(longest_ns, DAY_NS) / 1e9,
        used_bytes=usage.used_bytes,
        content_bytes=content,
        overhead_ratio=overhead,
        free_bytes=free_bytes,
        read_only=read_only,
        growth_bytes_per_day=_sum(rates) if measured else None,
        steady_bytes=_sum(steady) * (overhead or 1.0) if measured else None,
        fills=fills,
        days_until_full=days,
        kinds=kinds,
        hosts=[_host(host, host in measured) for host in usage.hosts],
        settings=[_setting(name, value, usage.hosts, kinds) for name, value in asdict(keep).items()],
    )


def kept_days(kind: str, keep: Retention) -> float | None:
    """How long a kind is kept; None where nothing ages."""
    kept = {RAW_KIND: keep.raw_ns, STACKS: keep.raw_ns, MINUTES: keep.minutes_ns}
    kept |= {TIER_KINDS[seconds]: ns for seconds, ns in keep.tiers_ns.items()}
    return kept[kind] / DAY_NS if kind in kept else None


def _kind(name: str, hosts: Sequence[HostUsage], measured: Sequence[HostUsage], keep: Retention) -> KindCapacity:
    of_all = [host.kinds[name] for host in hosts if name in host.kinds]
    size, pinned = sum(kind.total_bytes for kind in of_all), sum(kind.outlived_bytes for kind in of_all)
    days = kept_days(name, keep)
    rate, steady = None, None
    if measured:
        rate = sum(_rate(host, host.kinds[name]) for host in measured if name in host.kinds)
        steady = float(size) if days is None else rate * days + pinned
    return KindCapacity(name, size, rate, days, steady, pinned)


def _rate(host: HostUsage, kind: KindUsage) -> float:
    """Bytes a day that a host added of a kind, over the window or the time for which it is known."""
    window_ns = min(kind.window_ns, host.known_ns - SETTLED_NS)
    return kind.recent_bytes * DAY_NS / window_ns if window_ns > 0 else 0.0


def _host(host: HostUsage, measured: bool) -> HostCapacity:
    size = sum(kind.total_bytes for kind in host.kinds.values())
    rate = sum(_rate(host, kind) for kind in host.kinds.values()) if measured else None
    return HostCapacity(host.name, size, rate)


def _setting(name: str, value: float, hosts: Sequence[HostUsage], kinds: Sequence[KindCapacity]) -> SettingCapacity:
    option, about = SETTINGS[name]
    frees = sum(host.kinds[kind].later_half_bytes for host in hosts for kind in about if kind in host.kinds)
    steady = [
        None if kind.growth_bytes_per_day is None else kind.growth_bytes_per_day * (kind.kept_days or 0) / 2
        for kind in kinds
        if kind.kind in about
    ]
    return SettingCapacity(option, value, value / 2, frees, None if None in steady else _sum(steady))


def _until_full(
    kinds: Iterable[KindCapacity], free_bytes: int | None, overhead: float
) -> tuple[bool | None, float | None]:
    """Whether the room will be used up, and in how many days: each kind grows until its retention has caught up."""
    if free_bytes is None:
        return None, None
    growing = []
    for kind in kinds:
        rate, room = kind.growth_bytes_per_day or 0.0, (kind.steady_bytes or 0.0) - kind.size_bytes
        if rate > 0 and room > 0:
            growing.append((room / rate, rate * overhead))
    left, at = float(free_bytes), 0.0
    total = sum(rate for _, rate in growing)
    for until, rate in sorted(growing):
        if total * (until - at) >= left:
            return True, at + left / total
        left -= total * (until - at)
        total, at = total - rate, until
    return False, None


def _sum(values: Iterable[float | None]) -> float:
    return sum(value for value in values if value is not None)
