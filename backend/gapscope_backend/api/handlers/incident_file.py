"""One incident as a file."""

from __future__ import annotations

from aiohttp import web

from gapscope_backend.api.context import CONTEXT
from gapscope_backend.api.streaming import stream_answer
from gapscope_backend.services.incident_files import MEDIA_TYPE, SUFFIX, incident_bytes


async def get_incident_file(request: web.Request) -> web.StreamResponse:
    """An SQLite database with the incident and five minutes around it; `gapscope open` shows it."""
    context, incident_id = request.app[CONTEXT], request.match_info["incident"]
    response = web.StreamResponse()
    response.content_type = MEDIA_TYPE
    response.headers["Content-Disposition"] = f'attachment; filename="incident{SUFFIX}"'
    pieces = incident_bytes(context.database, incident_id, context.config.data_dir)
    return await stream_answer(request, response, pieces)
