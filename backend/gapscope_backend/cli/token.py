"""``gapscope token create|list|revoke``: access tokens of the server whose data folder this is."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from gapscope_backend.cli.arguments import add_data_option


def add_parser(commands: Any) -> None:
    """Options of ``gapscope token``."""
    parser = commands.add_parser("token", help="create, list and revoke access tokens")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser("create", help="print a new token; it is shown once")
    create.add_argument("--kind", choices=("ingest", "read"), default="ingest", help="write as a host, or read all")
    create.add_argument("--host", default="*", help="host name, or pattern such as gpu-*, that an ingest token may be")
    create.add_argument("--name", default="", help="what it is for")
    show = actions.add_parser("list", help="tokens by their prefix; never the token itself")
    revoke = actions.add_parser("revoke", help="make a token useless at once")
    revoke.add_argument("prefix", help="its prefix, as `gapscope token list` shows it")
    for action in (create, show, revoke):
        add_data_option(action)


def run(arguments: argparse.Namespace) -> int:
    """Do the chosen action."""
    from gapscope_backend.services import admin

    if arguments.action == "create":
        print(asyncio.run(admin.create_token(arguments.data, arguments.kind, arguments.host, arguments.name)))
    elif arguments.action == "list":
        for token in asyncio.run(admin.list_tokens(arguments.data)):
            state = "revoked" if token.revoked else "valid"
            print(f"{token.prefix:16s} {token.kind:7s} {state:8s} {token.host_pattern:24s} {token.name}")
    else:
        asyncio.run(admin.revoke_token(arguments.data, arguments.prefix))
        print(f"{arguments.prefix} is revoked")
    return 0
