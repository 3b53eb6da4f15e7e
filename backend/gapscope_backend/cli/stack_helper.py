"""``gapscope stack-helper``: the only part of Gapscope with privileges; it answers the agent on a unix socket."""

from __future__ import annotations

import argparse
import logging
import pwd
import signal
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)


def user_id(text: str) -> int:
    """Argument type of ``--allow-user``: a name or a number."""
    if text.isdigit():
        return int(text)
    try:
        return pwd.getpwnam(text).pw_uid
    except KeyError:
        raise argparse.ArgumentTypeError(f"there is no user {text!r}") from None


def add_parser(commands: Any) -> None:
    """Options of ``gapscope stack-helper``."""
    from gapscope_agent.stacks.helper import DEFAULT_SOCKET

    parser = commands.add_parser("stack-helper", help="look into other users' processes for the agent")
    parser.add_argument(
        "--socket", type=Path, metavar="PATH", default=DEFAULT_SOCKET, help="where to listen (default: %(default)s)"
    )
    parser.add_argument(
        "--allow-user",
        type=user_id,
        action="append",
        metavar="USER",
        help="user whose processes may ask, by name or number (repeatable; default: this user and root)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Answer until SIGINT or SIGTERM; 2 where a privilege could not be given up."""
    from gapscope_agent.stacks.helper import Helper, default_users
    from gapscope_agent.stacks.privileges import drop_privileges, refuse_network_sockets
    from gapscope_agent.stacks.service import StackService

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    users = frozenset(arguments.allow_user or default_users())
    refuse_network_sockets()
    helper = Helper(arguments.socket, users, StackService())
    helper.listen()
    for note in drop_privileges():
        log.warning("%s", note)
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: helper.stop())
    log.info("answering users %s on %s", ", ".join(map(str, sorted(users))), arguments.socket)
    helper.serve()
    return 0
