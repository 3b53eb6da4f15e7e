"""About the server itself: health, the catalogue, the OpenAPI."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from gapscope_agent.catalog import METRICS
from gapscope_agent.version import __version__
from gapscope_backend.analysis.causes import CAUSES
from gapscope_backend.api.answers import json_answer, spoken_answer
from gapscope_backend.api.context import CONTEXT
from gapscope_backend.api.queries import LanguageQuery, language_of, read_query
from gapscope_backend.api.schema import Catalog, CauseInfo, Health, MetricInfo
from gapscope_backend.errors import BusyError
from gapscope_backend.store.hosts import count_hosts

OPENAPI = web.AppKey("OPENAPI", dict[str, Any])


async def get_health(request: web.Request) -> web.Response:
    """Is the server there and does its database answer. 503 when it does not."""
    context = request.app[CONTEXT]
    dialect = context.database.dialect
    try:
        count, last_ns = await count_hosts(context.database)
    except BusyError:
        return json_answer(Health("failing", __version__, dialect, None, 0), status=503)
    age = None if last_ns is None else max(0.0, (context.clock() - last_ns) / 1e9)
    return json_answer(Health("ok", __version__, dialect, age, count, context.guard.read_only))


async def get_catalog(request: web.Request) -> web.Response:
    """Series and causes."""
    read_query(request, LanguageQuery)
    metrics = [MetricInfo(m.name, m.entity, m.unit, m.kind, m.period_seconds, m.help, list(m.aliases)) for m in METRICS]
    causes = [CauseInfo(c.id, c.title, c.row_class, c.advice, c.priority) for c in CAUSES]
    return spoken_answer(Catalog(metrics, causes), language_of(request))


async def get_openapi(request: web.Request) -> web.Response:
    """The OpenAPI of this server."""
    return web.Response(body=msgspec.json.encode(request.app[OPENAPI]), content_type="application/json")
