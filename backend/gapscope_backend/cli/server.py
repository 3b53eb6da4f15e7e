"""``gapscope server``: ingest, API and page on one address, until stopped."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from typing import Any

from gapscope_backend.cli.arguments import add_data_option
from gapscope_backend.cli.folder import DEFAULT_PORT, locked


def add_parser(commands: Any) -> None:
    """Options of ``gapscope server``."""
    parser = commands.add_parser("server", help="run the backend: ingest, API and page")
    add_data_option(parser)
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="port to listen on (default: %(default)s)")
    parser.add_argument(
        "--listen", default="127.0.0.1", metavar="ADDRESS", help="loopback address (default: %(default)s)"
    )
    parser.add_argument("--retention-hours", type=float, default=48.0, help="age at which raw data is deleted")


async def _serve(arguments: argparse.Namespace) -> None:
    from gapscope_backend.api.server import ServerConfig, run_server

    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    config = ServerConfig(
        data_dir=arguments.data,
        host=arguments.listen,
        port=arguments.port,
        retention_hours=arguments.retention_hours,
    )
    await run_server(config, lambda address: print(f"listening on {address}", flush=True), stop)


def run(arguments: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    arguments.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    with locked(arguments.data, "server.lock"):
        _run(arguments)
    return 0


def _run(arguments: argparse.Namespace) -> None:
    from gapscope_backend.api.server import loop_factory

    if sys.version_info >= (3, 11):
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_serve(arguments))
    else:
        asyncio.run(_serve(arguments))
