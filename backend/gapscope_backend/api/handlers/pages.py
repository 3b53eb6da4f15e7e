"""The built page: index.html for the page's own routes, and its files.

Files under assets/ carry a hash of their content in their name and may be kept for ever; all else is asked for anew.
"""

from __future__ import annotations

import asyncio
from importlib.resources import files
from pathlib import Path

from aiohttp import web

from gapscope_backend.api.context import CONTEXT
from gapscope_backend.api.problems import STATUS
from gapscope_backend.errors import GoneError, NotFoundError

FOREVER = "public, max-age=31536000, immutable"
ASK_ANEW = "no-cache"

_MISSING = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Gapscope: the page is not built</title></head>
<body><h1>The page is not built</h1>
<p>The server runs and takes data, but this installation holds no built page.</p>
<p>In a clone of the repository run <code>make up</code>, which builds it; or install a built wheel of gapscope.
The data is there meanwhile: <code>gapscope explain HOST</code>, or the API under <code>/api/v1</code>.</p>
</body></html>
"""


def installed_static() -> Path:
    """Folder of the built page in the installed package."""
    return Path(str(files("gapscope_frontend"))) / "static"


async def get_index(request: web.Request) -> web.StreamResponse:
    """The page; it finds its own way by the address."""
    index = request.app[CONTEXT].static / "index.html"
    if not index.is_file():
        return web.Response(status=503, text=_MISSING, content_type="text/html")
    return web.FileResponse(index, headers={"Cache-Control": ASK_ANEW})


async def get_share_page(request: web.Request) -> web.StreamResponse:
    """The page of a share: 404 where there is no such link, 410 where its time is over; the page says it in words."""
    context = request.app[CONTEXT]
    page = await get_index(request)
    try:
        await context.shares.find(request.match_info["link"], context.clock())
    except (NotFoundError, GoneError) as error:
        if not isinstance(page, web.FileResponse):
            return page
        # As text: of a file, a browser that knows it is told that it has not changed.
        text = await asyncio.to_thread((context.static / "index.html").read_text)
        return web.Response(status=STATUS[type(error)][0], text=text, content_type="text/html")
    return page


async def get_asset(request: web.Request) -> web.StreamResponse:
    """A file with a hash in its name."""
    return _file(request.app[CONTEXT].static / "assets", request.match_info["name"], FOREVER)


async def get_root_file(request: web.Request) -> web.StreamResponse:
    """An icon or the like beside index.html."""
    return _file(request.app[CONTEXT].static, request.match_info["name"], ASK_ANEW)


def _file(folder: Path, name: str, cache: str) -> web.StreamResponse:
    root = folder.resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root) or not path.is_file():
        raise web.HTTPNotFound
    return web.FileResponse(path, headers={"Cache-Control": cache})
