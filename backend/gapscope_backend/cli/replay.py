"""``gapscope replay DIR``: send a recording to a server through the agent's own path, as if its host were live."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
from pathlib import Path
from typing import Any

from gapscope_backend.cli.arguments import add_replay_options, add_server_options


def add_parser(commands: Any) -> None:
    """Options of ``gapscope replay``."""
    parser = commands.add_parser("replay", help="send a recording to a server, as if its host were live")
    parser.add_argument("directory", type=Path, help="folder of a recording")
    add_server_options(parser)
    parser.add_argument("--host", help="name of the host that it appears as (default: the folder's name)")
    add_replay_options(parser)
    parser.add_argument("--backfill", action="store_true", help="first send it whole, ending now")


async def _play(arguments: argparse.Namespace) -> None:
    from gapscope_agent.config import load_config
    from gapscope_agent.replay import host_of, run_replay

    config = load_config(
        None,
        server=arguments.server,
        token_file=arguments.token_file,
        host=arguments.host or host_of(arguments.directory),
    )
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    await run_replay(
        config,
        arguments.directory,
        speed=arguments.speed,
        at_recorded_time=arguments.at_recorded_time,
        loop=arguments.loop,
        backfill=arguments.backfill,
        stop=stop,
    )


def run(arguments: argparse.Namespace) -> int:
    """Play it to its end, or until stopped."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    asyncio.run(_play(arguments))
    return 0
