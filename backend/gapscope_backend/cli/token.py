"""``gapscope token create|list|revoke``: access tokens of the server whose data folder this is."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from gapscope_backend.cli.arguments import add_known_data_option
from gapscope_backend.cli.database import add_database_options, database_of
from gapscope_backend.errors import BackendError


def add_parser(commands: Any) -> None:
    """Options of ``gapscope token``."""
    parser = commands.add_parser("token", help="create, list and revoke access tokens")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    create = actions.add_parser("create", help="print a new token; it is shown once")
    create.add_argument("--kind", choices=("ingest", "read"), required=True, help="write as a host, or read all")
    create.add_argument("--host", help="of an ingest token: the host name, or a pattern such as gpu-*, that it may be")
    create.add_argument("--name", default="", help="what it is for")
    show = actions.add_parser("list", help="tokens by their prefix; never the token itself")
    revoke = actions.add_parser("revoke", help="make a token useless at once")
    revoke.add_argument("prefix", help="its prefix, as `gapscope token list` shows it")
    for action in (create, show, revoke):
        add_known_data_option(action)
        add_database_options(action)


class TokenOptionError(BackendError):
    """Options that do not go together."""


def _pattern(arguments: argparse.Namespace) -> str:
    if arguments.kind == "ingest" and not arguments.host:
        raise TokenOptionError("an ingest token needs --host NAME: it writes as that host only ('*' for any)")
    if arguments.kind == "read" and arguments.host:
        raise TokenOptionError("a read token reads every host; leave --host out")
    return arguments.host or "*"


def run(arguments: argparse.Namespace) -> int:
    """Do the chosen action."""
    from gapscope_backend.services import admin

    database = database_of(arguments)
    if arguments.action == "create":
        print(asyncio.run(admin.create_token(database, arguments.kind, _pattern(arguments), arguments.name)))
    elif arguments.action == "list":
        tokens = asyncio.run(admin.list_tokens(database))
        if not tokens:
            print("no tokens yet; gapscope token create makes one")
        for token in tokens:
            state = "revoked" if token.revoked else "valid"
            print(f"{token.prefix:16s} {token.kind:7s} {state:8s} {token.host_pattern:24s} {token.name}")
    else:
        asyncio.run(admin.revoke_token(database, arguments.prefix))
        print(f"{arguments.prefix} is revoked")
    return 0
