"""``gapscope agent``: sample this host and send what it tells to a server."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path
from typing import Any

from gapscope_backend.cli.arguments import add_server_options


def add_parser(commands: Any) -> None:
    """Options of ``gapscope agent``."""
    parser = commands.add_parser("agent", help="run the agent of this host")
    add_server_options(parser)
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file; options and environment win over it")
    parser.add_argument("--host", help="name of this host (default: its own)")
    parser.add_argument(
        "--check",
        action="store_true",
        help="only check the configuration and the token, and whether the server takes it",
    )


async def _sample(config: Any) -> None:
    from gapscope_agent.runtime import run_agent

    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    await run_agent(config, stop)


def _check(config: Any) -> int:
    from gapscope_agent.config import ConfigError
    from gapscope_agent.stacks.build import build_access
    from gapscope_agent.token_check import check_token

    try:
        said = asyncio.run(check_token(config))
    except ConfigError as error:
        sys.stderr.write(f"gapscope agent: {error}\n")
        return 1
    print(f"configuration: sends to {config.server} as {config.host}\ntoken: {said}")
    access = build_access(config.stacks)
    missing = None if config.stacks.mode == "off" else access.why_not()
    access.stop()
    print(f"stacks: {config.stacks.mode}" + (f", but {missing}" if missing else ""))
    return 0


def run(arguments: argparse.Namespace) -> int:
    """Sample until SIGINT or SIGTERM; with ``--check`` 1 where the token will not do."""
    from gapscope_agent.config import load_config

    config = load_config(
        arguments.config, server=arguments.server, token_file=arguments.token_file, host=arguments.host
    )
    if arguments.check:
        return _check(config)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    asyncio.run(_sample(config))
    return 0
