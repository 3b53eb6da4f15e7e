"""``gapscope``: finds the subcommand, runs it, and turns known errors into one clear line.

Each subcommand is a module with ``add_parser(subparsers)`` and ``run(arguments) -> int``, listed in ``COMMANDS``.
Modules are imported when their command is called, so that an agent-only install never touches the server's
libraries and ``gapscope explain`` starts fast.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from gapscope_agent.version import __version__

COMMANDS: tuple[tuple[str, str], ...] = (
    ("up", "run the server and this host's agent, and print the address to open"),
    ("explain", "say what the GPUs of a recording or a host waited for, with evidence"),
    ("compare", "set recordings or spans of hosts side by side"),
    ("check", "go through the checklist before a service or a training goes live"),
    ("flame", "fold Python stacks into a flame graph: all, or those of the GPU's gaps"),
    ("record", "record this host's readings into a folder"),
    ("replay", "send a recording to a server, as if its host were live"),
    ("agent", "run the agent of this host"),
    ("stack-helper", "look into other users' processes for the agent"),
    ("server", "run the backend: ingest, API and page"),
    ("token", "create, list and revoke access tokens"),
    ("db", "upgrade, check, measure, distribute and back up the database"),
    ("incident", "write an incident into a file that opens anywhere"),
    ("open", "show an incident file on the page"),
    ("export", "write the stored series of a host into a CSV, Arrow or Parquet file"),
    ("alerts", "channels, test messages, and what was sent"),
    ("login", "print a new one-time address to log in with"),
)
SERVER_PACKAGES = ("sqlalchemy", "alembic", "aiosqlite", "psycopg")


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"gapscope_backend.cli.{name.replace('-', '_')}")


def build_parser(wanted: str | None) -> argparse.ArgumentParser:
    """Parser that lists every command and knows the options of the ``wanted`` one."""
    parser = argparse.ArgumentParser(prog="gapscope", description="What is your GPU waiting for?")
    parser.add_argument("--version", action="version", version=f"gapscope {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, summary in COMMANDS:
        if name == wanted:
            _module(name).add_parser(commands)
        else:
            commands.add_parser(name, help=summary)
    return parser


def _explained(error: Exception) -> str | None:
    """One line for an error that a user can act on; None for a defect of ours."""
    if isinstance(error, ModuleNotFoundError) and error.name in SERVER_PACKAGES:
        return f"this command needs the server's packages ({error.name} is missing): pip install 'gapscope[server]'"
    if type(error).__module__.startswith("gapscope_"):
        return str(error)
    if isinstance(error, OSError):
        return str(error)
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 done, 1 failed, 2 wrong use or input, 130 interrupted."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's pool: memory a core, and nothing here uses it
    words = list(sys.argv[1:] if argv is None else argv)
    wanted = next((word for word in words if not word.startswith("-")), None)
    parser = build_parser(wanted)
    arguments = parser.parse_args(words)
    if arguments.command is None:
        parser.print_help()
        return 2
    try:
        code: int = _module(arguments.command).run(arguments)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        line = _explained(error)
        if line is None:
            raise
        sys.stderr.write(f"gapscope {arguments.command}: {line}\n")
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
