"""``gapscope login``: a new one-time address for the page of a running server."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from gapscope_backend.cli.arguments import add_known_data_option
from gapscope_backend.cli.database import add_database_options, database_of
from gapscope_backend.cli.folder import address_of


def add_parser(commands: Any) -> None:
    """Options of ``gapscope login``."""
    parser = commands.add_parser("login", help="print a new one-time address to log in with")
    add_known_data_option(parser)
    add_database_options(parser)
    parser.add_argument("--server", metavar="URL", help="address of the page (default: where the server listens)")


def run(arguments: argparse.Namespace) -> int:
    """Print the address."""
    from gapscope_backend.services import admin

    token = asyncio.run(admin.create_login(database_of(arguments)))
    print(f"{(arguments.server or address_of(arguments.data)).rstrip('/')}/login#token={token}")
    return 0
