"""``gapscope open FILE``: the page on an incident file, on this machine, without a GPU, a server or an agent."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
from pathlib import Path
from typing import Any

from gapscope_backend.cli.folder import choose_port


def add_parser(commands: Any) -> None:
    """Options of ``gapscope open``."""
    parser = commands.add_parser(
        "open",
        help="show an incident file on the page",
        description="The file is checked and copied first, and is not changed. Time stands still at the end of its "
        "data.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="made by `gapscope incident export`")
    parser.add_argument("--port", type=int, help="port on localhost (default: 8765, or a free one when it is taken)")


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    asyncio.run(_serve(arguments.file, choose_port(arguments.port)))
    return 0


async def _serve(path: Path, port: int) -> None:
    from gapscope_backend.api.server import ServerConfig, run_server
    from gapscope_backend.services.access import create_login
    from gapscope_backend.services.incident_files import opened_file

    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    async with opened_file(path) as opened:
        now_ns = opened.now_ns
        config = ServerConfig(data_dir=path.parent, port=port, database_url=opened.url, read_only=True)
        login = await create_login(opened.database, now_ns)

        def ready(address: str) -> None:
            print(opened.about, flush=True)
            print(f"Open {address}/login#token={login}  (one-time login; Ctrl-C stops)", flush=True)

        await run_server(config, ready, stop, clock=lambda: now_ns)
