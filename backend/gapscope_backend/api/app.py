"""The web application: services, routes, middlewares and the live view's upkeep put together.

What goes on without a request (retention, the watch over hosts) is the workers' part.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from functools import partial

from aiohttp import web

from gapscope_backend.alerts.egress import Egress
from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Window
from gapscope_backend.api.config import ServerConfig
from gapscope_backend.api.context import CONTEXT, Context
from gapscope_backend.api.handlers.ingest import HELD, Held
from gapscope_backend.api.handlers.live import SOCKETS, close_sockets
from gapscope_backend.api.handlers.meta import OPENAPI
from gapscope_backend.api.handlers.pages import installed_static
from gapscope_backend.api.openapi import describe
from gapscope_backend.api.problems import problems
from gapscope_backend.api.route import Access
from gapscope_backend.api.routes import ROUTES
from gapscope_backend.api.security import ACCESS, add_headers, check_access, check_host
from gapscope_backend.api.streaming import STREAMS, STREAMS_AT_ONCE
from gapscope_backend.services.access import KnownTokens
from gapscope_backend.services.background import repeat
from gapscope_backend.services.capacity import Capacities
from gapscope_backend.services.channels import Channels
from gapscope_backend.services.diagnosis import Diagnosis
from gapscope_backend.services.fleet import Fleet
from gapscope_backend.services.ingest import Ingest
from gapscope_backend.services.live import RENEW_SECONDS, LiveHub
from gapscope_backend.services.minutes import Minutes
from gapscope_backend.services.shares import Shares
from gapscope_backend.store.database import Database
from gapscope_backend.store.disk import DiskGuard, FindSpace, space_of

MAX_JSON_BYTES = 64 * 1024
JUDGE_SECONDS = 1.0


def create_app(
    config: ServerConfig,
    database: Database,
    clock: Callable[[], int] = time.time_ns,
    monotonic: Callable[[], float] = time.monotonic,
    analyse: Callable[[Window], Verdict] = diagnose,
    find_space: FindSpace | None = None,
) -> web.Application:
    """The application on an open database; run it with ``auto_decompress=False``, bodies are bounded here."""
    app = web.Application(middlewares=[problems, check_host, check_access], client_max_size=MAX_JSON_BYTES)
    diagnosis = Diagnosis(database, analyse)
    minutes = Minutes(database, diagnosis, clock)
    guard = DiskGuard(find_space or partial(space_of, database), monotonic)
    context = Context(
        config=config,
        database=database,
        clock=clock,
        ingest=Ingest(database, guard),
        known_tokens=KnownTokens(database),
        guard=guard,
        capacity=Capacities(database, config.retention, guard, clock),
        diagnosis=diagnosis,
        fleet=Fleet(database, minutes, clock),
        minutes=minutes,
        live=LiveHub(monotonic),
        shares=Shares(database, analyse, config.data_dir),
        channels=Channels(database, Egress(config.webhook_allow), clock, monotonic),
        static=config.static_dir or installed_static(),
    )
    app[CONTEXT] = context
    app[SOCKETS] = set()
    app[HELD] = Held()
    app[STREAMS] = asyncio.Semaphore(STREAMS_AT_ONCE)
    app[OPENAPI] = describe(ROUTES, context.cookie_name)
    _add_routes(app)
    app.on_response_prepare.append(add_headers)
    app.on_shutdown.append(close_sockets)
    app.cleanup_ctx.append(_background)
    return app


def _add_routes(app: web.Application) -> None:
    access: dict[web.AbstractRoute, Access] = {}
    for route in ROUTES:
        # What can be got can be asked about: load balancers and link checkers send HEAD.
        methods = ("GET", "HEAD") if route.method == "GET" and not route.websocket else (route.method,)
        for method in methods:
            access[app.router.add_route(method, route.path, route.handler)] = route.access
    app[ACCESS] = access


async def _background(app: web.Application) -> AsyncIterator[None]:
    context = app[CONTEXT]
    jobs = (
        ("live requests", RENEW_SECONDS, context.live.renew),
        ("live states", JUDGE_SECONDS, context.live.judge_all),
    )
    tasks = [asyncio.create_task(repeat(*job), name=job[0]) for job in jobs]
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await context.minutes.close()
    await context.shares.close()
