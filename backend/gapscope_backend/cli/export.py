"""``gapscope export``: the stored series of a host over any span as a CSV, Arrow or Parquet file."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from gapscope_backend.cli.arguments import add_known_data_option
from gapscope_backend.cli.database import add_database_options, database_of

if TYPE_CHECKING:
    from gapscope_backend.store.database import Database


def add_parser(commands: Any) -> None:
    """Options of ``gapscope export``."""
    parser = commands.add_parser(
        "export",
        help="write the stored series of a host into a CSV, Arrow or Parquet file",
        description="A row a sample (or a bucket, with --tier), whatever the length of the span.",
    )
    parser.add_argument("--host", required=True, help="name of the host")
    when = "ISO 8601, now, or now-15m (ms s m h d)"
    parser.add_argument("--from", dest="start", required=True, metavar="TIME", help=f"begin of the span: {when}")
    parser.add_argument("--to", dest="end", default="now", metavar="TIME", help="its end (default: now)")
    some = "all without it; may be repeated"
    parser.add_argument(
        "--entity", action="append", default=[], metavar="P", help=f"a key, or a prefix that ends in *; {some}"
    )
    parser.add_argument("--metric", action="append", default=[], metavar="M", help=f"name of a series; {some}")
    parser.add_argument("--tier", choices=("raw", "10s", "5min"), default="raw", help="samples, or buckets")
    parser.add_argument(
        "--format",
        choices=("csv", "arrow", "parquet"),
        default="csv",
        help="csv (default); arrow and parquet need pip install 'gapscope[export]'",
    )
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="where to; - is the standard output")
    add_known_data_option(parser)
    add_database_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the file; it appears whole or not at all."""
    url = database_of(arguments)
    if arguments.output == "-":
        asyncio.run(_export(url, arguments, sys.stdout.buffer))
        return 0
    path = Path(arguments.output)
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as out:
            asyncio.run(_export(url, arguments, out))
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    print(f"{path}: {path.stat().st_size:,} bytes")
    return 0


async def _export(url: str, arguments: argparse.Namespace, out: BinaryIO) -> None:
    from gapscope_backend.store.database import connect

    database = connect(url)
    try:
        await _write(database, arguments, out)
    finally:
        await database.close()


async def _write(database: Database, arguments: argparse.Namespace, out: BinaryIO) -> None:
    from gapscope_backend.services.export import export
    from gapscope_backend.services.export_rows import ExportQuery, tier_named
    from gapscope_backend.services.hosts import find_host
    from gapscope_backend.services.times import parse_span
    from gapscope_backend.store.reader import Selection

    start_ns, end_ns = parse_span(arguments.start, arguments.end, time.time_ns())
    host = await find_host(database, arguments.host)
    selection = Selection(tuple(arguments.entity) or ("*",), frozenset(arguments.metric))
    query = ExportQuery(host.id, start_ns, end_ns, selection, tier_named(arguments.tier))
    async with aclosing(export(database, host, query, arguments.format)) as pieces:
        async for piece in pieces:
            out.write(piece)
