"""Exports: the stored series of a host over any span, in a format that other programs read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from gapscope_backend.services.export_formats import make_format
from gapscope_backend.services.export_rows import ExportQuery, read_rows
from gapscope_backend.services.series import check_metrics
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Host

BYTES_AT_ONCE = 256 * 1024


async def export(database: Database, host: Host, query: ExportQuery, format_name: str) -> AsyncGenerator[bytes, None]:
    """The bytes of an export, in pieces. With the first one come all errors of the request.

    Raises MalformedError for a metric that there is not and UnprocessableError where the format's library is missing.
    """
    check_metrics(query.selection.metrics)
    out = make_format(format_name, host.name, query.tier is not None)
    held = bytearray(out.begin())
    async with aclosing(read_rows(database, query)) as rows:
        async for series in rows:
            held += await asyncio.to_thread(out.add, series)
            if len(held) >= BYTES_AT_ONCE:
                yield bytes(held)
                held.clear()
    yield bytes(held + await asyncio.to_thread(out.end))
