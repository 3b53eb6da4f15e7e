"""``gapscope db``: the database itself, whether or not a server runs on it."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapscope_backend.cli.arguments import add_known_data_option
from gapscope_backend.cli.capacity import add_capacity_options, show_capacity
from gapscope_backend.cli.database import add_database_options, database_of

if TYPE_CHECKING:
    from gapscope_backend.store.database import Database

ACTIONS = (
    ("upgrade", "bring the schema to its newest version"),
    ("check", "schema, keys and contents; exit code 1 when something is wrong"),
    ("stats", "rows and bytes of each table and host"),
    ("capacity", "bytes by kind and host, growth, days until the disk is full, what retention would free"),
    ("distribute", "on PostgreSQL with Citus: distribute the tables of hosts over the nodes"),
    ("backup", "copy an SQLite database, in use or not, into a new file"),
)


def add_parser(commands: Any) -> None:
    """Options of ``gapscope db``."""
    parser = commands.add_parser("db", help="upgrade, check, measure, distribute and back up the database")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, summary in ACTIONS:
        action = actions.add_parser(name, help=summary)
        add_known_data_option(action)
        add_database_options(action)
        if name == "capacity":
            add_capacity_options(action)
        if name == "backup":
            action.add_argument("file", type=Path, metavar="FILE", help="where to; must not exist")


def run(arguments: argparse.Namespace) -> int:
    """Do the chosen action."""
    url = database_of(arguments)
    return asyncio.run(_WORK[arguments.action](url, arguments))


async def _with(url: str, work: Callable[[Database], Awaitable[int]]) -> int:
    from gapscope_backend.store.database import connect

    database = connect(url, patient=True)
    try:
        return await work(database)
    finally:
        await database.close()


async def _upgrade(url: str, _arguments: argparse.Namespace) -> int:
    from gapscope_backend.store.database import open_database
    from gapscope_backend.store.integrity import schema_versions

    database = await open_database(url)
    try:
        print(f"the schema is at {(await schema_versions(database))[1]}, the newest version")
    finally:
        await database.close()
    return 0


async def _check(url: str, _arguments: argparse.Namespace) -> int:
    from gapscope_backend.store.integrity import check_database

    async def check(database: Database) -> int:
        found = await check_database(database)
        print("\n".join(found) if found else "all is well")
        return 1 if found else 0

    return await _with(url, check)


async def _stats(url: str, _arguments: argparse.Namespace) -> int:
    from gapscope_backend.store.sizes import read_sizes

    async def show(database: Database) -> int:
        sizes = await read_sizes(database)
        print(f"{database.dialect}, {sizes.size_bytes:,} bytes in all\n")
        print(f"{'table':16s} {'rows':>14s} {'bytes':>16s}")
        for table in sizes.tables:
            print(f"{table.name:16s} {table.rows:14,d} {_number(table.size_bytes):>16s}")
        print(f"\n{'host':24s} {'hot batches':>11s} {'hot bytes':>14s} {'chunk bytes':>16s} {'samples':>16s} B/sample")
        for host in sizes.hosts:
            each = "" if host.bytes_per_sample is None else f"{host.bytes_per_sample:.2f}"
            held = f"{host.hot_batches:11,d} {host.hot_bytes:14,d} {host.chunk_bytes:16,d} {host.samples:16,d}"
            print(f"{host.name:24s} {held} {each:>8s}")
        return 0

    return await _with(url, show)


def _number(value: int | None) -> str:
    return "not told" if value is None else f"{value:,}"


async def _distribute(url: str, _arguments: argparse.Namespace) -> int:
    from gapscope_backend.store.citus import distribute

    async def spread(database: Database) -> int:
        done = await distribute(database)
        print("\n".join(done) if done else "every table is where it belongs")
        return 0

    return await _with(url, spread)


async def _back_up(url: str, arguments: argparse.Namespace) -> int:
    from gapscope_backend.store.backup import back_up

    async def copy(database: Database) -> int:
        await back_up(database, arguments.file)
        print(f"{arguments.file}: {arguments.file.stat().st_size:,} bytes")
        return 0

    return await _with(url, copy)


async def _capacity(url: str, arguments: argparse.Namespace) -> int:
    return await _with(url, partial(show_capacity, arguments=arguments))


_WORK = {
    "upgrade": _upgrade,
    "check": _check,
    "stats": _stats,
    "capacity": _capacity,
    "distribute": _distribute,
    "backup": _back_up,
}
