"""``gapscope db capacity``: how full the database is, how fast it grows, and what can be done about it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from gapscope_backend.cli.database import read_server_file

if TYPE_CHECKING:
    from gapscope_backend.services.capacity import Capacity
    from gapscope_backend.store.database import Database
    from gapscope_backend.store.retention import Retention

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SHOWN_HOSTS = 20


def add_capacity_options(parser: argparse.ArgumentParser) -> None:
    """``--limit SIZE`` and ``--json``."""
    parser.add_argument(
        "--limit",
        type=_size,
        metavar="SIZE",
        help="what the database may take, such as 500G; needed with PostgreSQL, whose disk is not seen from here",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON, sizes in bytes")


async def show_capacity(database: Database, arguments: argparse.Namespace) -> int:
    """Measure and print. Retention is that of the table ``[server]`` of ``--config``, else the defaults."""
    from gapscope_backend.services.capacity import Capacities
    from gapscope_backend.store.disk import DiskGuard, space_of

    guard = DiskGuard(partial(space_of, database), time.monotonic)
    found = await Capacities(database, _retention(arguments), guard, time.time_ns).tell(arguments.limit)
    if arguments.json:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    else:
        print("\n".join(_lines(found)))
    return 0


def _retention(arguments: argparse.Namespace) -> Retention:
    from gapscope_backend.services.capacity import SETTINGS
    from gapscope_backend.store.retention import Retention

    told = read_server_file(arguments.config)
    given = {field: getattr(told, option) for field, (option, _) in SETTINGS.items()}
    retention = Retention(**{field: value for field, value in given.items() if value is not None})
    retention.check()
    return retention


def _size(text: str) -> int:
    """Argument type: bytes, or with K, M, G or T for powers of 1024."""
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "")
    try:
        size = int(float(number) * _UNITS[unit])
    except (ValueError, KeyError, OverflowError):
        size = 0
    if size <= 0:
        raise argparse.ArgumentTypeError(f"{text} is no size; want bytes, or a number with K, M, G or T such as 500G")
    return size


def _lines(found: Capacity) -> Iterator[str]:
    free = "not known" if found.free_bytes is None else shown(found.free_bytes)
    yield f"{found.database}: {shown(found.used_bytes)} used, {free} free"
    yield _outlook(found)
    yield f"\n{'kind':10s} {'now':>10s} {'a day':>10s} {'kept':>8s} {'in the end':>10s} {'of it pinned':>12s}"
    for kind in found.kinds:
        kept = "" if kind.kept_days is None else f"{kind.kept_days:g} d"
        ends = f"{_or_none(kind.steady_bytes):>10s} {shown(kind.pinned_bytes) if kind.pinned_bytes else '':>12s}"
        now = f"{kind.kind:10s} {shown(kind.size_bytes):>10s} {_or_none(kind.growth_bytes_per_day):>10s}"
        yield f"{now} {kept:>8s} {ends}".rstrip()
    yield f"\n{'host':24s} {'now':>10s} {'a day':>10s}"
    largest = sorted(found.hosts, key=lambda host: -host.size_bytes)
    for host in largest[:SHOWN_HOSTS]:
        yield f"{host.host:24s} {shown(host.size_bytes):>10s} {_or_none(host.growth_bytes_per_day):>10s}"
    if len(largest) > SHOWN_HOSTS:
        yield f"and {len(largest) - SHOWN_HOSTS} more hosts; --json lists them all"
    yield f"\n{'half of a retention':34s} {'frees now':>10s} {'in the end':>10s}"
    for one in found.settings:
        change = f"{one.setting} {one.now:g} -> {one.instead:g}"
        yield f"{change:34s} {shown(one.frees_bytes):>10s} {_or_none(one.steady_frees_bytes):>10s}"


def _outlook(found: Capacity) -> str:
    hours = found.measured_seconds / 3600
    if found.growth_bytes_per_day is None:
        return "not enough history yet: the growth is known once a host has sent for an hour and ten minutes"
    grows = f"grows by {shown(found.growth_bytes_per_day)} a day (content, measured over {hours:.1f} h)"
    if found.fills is None:
        ends = f"reaches {_or_none(found.steady_bytes)}; give --limit SIZE to learn whether that fits"
    elif found.days_until_full is None:
        ends = f"reaches {_or_none(found.steady_bytes)} and stays there: it does not fill up"
    else:
        ends = f"full in {found.days_until_full:.1f} days; it would reach {_or_none(found.steady_bytes)}"
    return f"{grows}; {ends}" + ("; read-only: the disk is too full" if found.read_only else "")


def shown(size: float) -> str:
    """A size with three digits and a unit of 1024."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1000:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:,.3g} TiB" if size < 1000 else f"{size:,.0f} TiB"


def _or_none(size: float | None) -> str:
    return "not known" if size is None else shown(size)
