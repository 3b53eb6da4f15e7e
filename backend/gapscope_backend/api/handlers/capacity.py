"""Room in the database: what is used, how it grows, when it is full."""

from __future__ import annotations

from aiohttp import web

from gapscope_backend.api.answers import json_answer
from gapscope_backend.api.context import CONTEXT
from gapscope_backend.api.queries import CapacityQuery, read_query


async def get_capacity(request: web.Request) -> web.Response:
    """Bytes by kind and host, growth, forecast; renewed once a minute at most."""
    asked = read_query(request, CapacityQuery)
    return json_answer(await request.app[CONTEXT].capacity.tell(asked.limit_bytes))
