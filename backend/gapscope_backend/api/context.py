"""What handlers work with; one per application."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

from gapscope_backend.api.config import ServerConfig
from gapscope_backend.services.access import KnownTokens
from gapscope_backend.services.capacity import Capacities
from gapscope_backend.services.channels import Channels
from gapscope_backend.services.diagnosis import Diagnosis
from gapscope_backend.services.fleet import Fleet
from gapscope_backend.services.ingest import Ingest
from gapscope_backend.services.live import LiveHub
from gapscope_backend.services.minutes import Minutes
from gapscope_backend.services.shares import Shares
from gapscope_backend.store.database import Database, shown_url
from gapscope_backend.store.disk import DiskGuard


@dataclass
class Context:
    """Services and settings. ``clock`` gives nanoseconds since the epoch."""

    config: ServerConfig
    database: Database
    clock: Callable[[], int]
    ingest: Ingest
    known_tokens: KnownTokens
    guard: DiskGuard
    capacity: Capacities
    diagnosis: Diagnosis
    fleet: Fleet
    minutes: Minutes
    live: LiveHub
    shares: Shares
    channels: Channels
    static: Path

    @property
    def cookie_name(self) -> str:
        """Cookies of one host name are shared by all its ports: the name tells the server's database apart."""
        return "gapscope_session_" + hashlib.sha256(shown_url(self.config.url_of_database).encode()).hexdigest()[:8]


CONTEXT = web.AppKey("CONTEXT", Context)
FROZEN = web.RequestKey("FROZEN", Context)
"""On routes of a share: the same with what the share shows in place of the database."""


def context_of(request: web.Request) -> Context:
    """What a handler works with: the application's own, or what a share shows."""
    return request.get(FROZEN) or request.app[CONTEXT]
