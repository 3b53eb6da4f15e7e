"""A route as data: the router, the access check, the documentation and the OpenAPI are all made of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from aiohttp import web

API = "/api/v1"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Access(Enum):
    """Who may call a route. ``SHARE``: whoever has the link of a share that is public, else a reader who has it."""

    PUBLIC = "public"
    SESSION = "session"
    READ = "read"
    SHARE = "share"
    INGEST = "ingest"


@dataclass(frozen=True)
class Route:
    """One operation. ``query``, ``body`` and ``answer`` are the types that validate and shape it.

    ``media_type`` is that of a body that is not JSON, ``answer_types`` are those of an answer that is a file.
    ``websocket`` marks an operation that upgrades.
    ``page`` marks a page of the browser, which is no part of the API.
    ``name`` is that of the operation where the handler serves several.
    """

    method: str
    path: str
    access: Access
    handler: Handler
    summary: str
    query: type[Any] | None = None
    body: Any = None
    answer: Any = None
    media_type: str | None = None
    answer_types: tuple[str, ...] = ()
    problems: tuple[int, ...] = ()
    websocket: bool = False
    page: bool = False
    name: str = ""
