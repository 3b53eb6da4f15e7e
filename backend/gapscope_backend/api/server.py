"""Running the server until it is told to stop."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable

from aiohttp import web

from gapscope_backend.api.app import create_app
from gapscope_backend.api.config import ServerConfig
from gapscope_backend.errors import ConfigurationError
from gapscope_backend.store.database import open_database

__all__ = ["ServerConfig", "loop_factory", "run_server"]

SHUTDOWN_SECONDS = 5.0
SWITCH_SECONDS = 0.0005
"""The event loop waits at most so long for a thread that decodes or encodes; Python's 5 ms add up over an answer."""


async def run_server(
    config: ServerConfig,
    ready: Callable[[str], None] | None,
    stop: asyncio.Event,
    clock: Callable[[], int] = time.time_ns,
) -> None:
    """Serve until ``stop`` is set. ``ready`` gets the address once connections are taken; ``clock`` gives ns.

    Raises ConfigurationError for settings that cannot be used and StoreError for a database that cannot be opened.
    """
    config.check()
    sys.setswitchinterval(SWITCH_SECONDS)
    database = await open_database(config.url_of_database)
    # Bodies are decompressed by the handler that takes them, in bounded memory, never by the server before it.
    runner = web.AppRunner(
        create_app(config, database, clock), auto_decompress=False, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS
    )
    try:
        await runner.setup()
        port = await _listen(runner, config)
        if ready:
            ready(f"http://{_in_url(config.host)}:{port}")
        await stop.wait()
    finally:
        await runner.cleanup()
        await database.close()


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """What makes the event loop: uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


async def _listen(runner: web.AppRunner, config: ServerConfig) -> int:
    site = web.TCPSite(runner, config.host, config.port)
    try:
        await site.start()
    except OSError as error:
        raise ConfigurationError(
            f"cannot listen on {config.host} port {config.port}: {error.strerror}; choose another port"
        ) from error
    port: int = runner.addresses[0][1]
    return port


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
