"""``gapscope login``: a new one-time address for the page of a running server."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from gapscope_backend.cli.arguments import add_data_option
from gapscope_backend.cli.folder import DEFAULT_PORT


def add_parser(commands: Any) -> None:
    """Options of ``gapscope login``."""
    parser = commands.add_parser("login", help="print a new one-time address to log in with")
    add_data_option(parser)
    parser.add_argument(
        "--server", metavar="URL", default=f"http://127.0.0.1:{DEFAULT_PORT}", help="address (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the address."""
    from gapscope_backend.services import admin

    token = asyncio.run(admin.create_login(arguments.data))
    print(f"{arguments.server.rstrip('/')}/login#token={token}")
    return 0
