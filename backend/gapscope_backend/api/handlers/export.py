"""Series of a host as a file of CSV, Arrow or Parquet, sent while it is made."""

from __future__ import annotations

from aiohttp import web

from gapscope_backend.api.context import CONTEXT
from gapscope_backend.api.queries import ExportParameters, read_query
from gapscope_backend.api.streaming import stream_answer
from gapscope_backend.services.export import export
from gapscope_backend.services.export_formats import MEDIA_TYPES
from gapscope_backend.services.export_rows import ExportQuery, tier_named
from gapscope_backend.services.hosts import find_host
from gapscope_backend.store.reader import Selection


async def get_export(request: web.Request) -> web.StreamResponse:
    """Rows of a span of any length. What fails after the first bytes ends the connection before its proper end."""
    context = request.app[CONTEXT]
    asked = read_query(request, ExportParameters)
    start_ns, end_ns = asked.span_ns(context.clock())
    host = await find_host(context.database, request.match_info["host"])
    selection = Selection(tuple(asked.entity) or ("*",), frozenset(asked.metric))
    query = ExportQuery(host.id, start_ns, end_ns, selection, tier_named(asked.tier))
    response = web.StreamResponse(headers={"Content-Disposition": f'attachment; filename="{host.name}.{asked.format}"'})
    response.content_type = MEDIA_TYPES[asked.format]
    if asked.format == "csv":
        response.charset = "utf-8"
        response.enable_compression()
    return await stream_answer(request, response, export(context.database, host, query, asked.format))
