"""Where the database of a command is: ``--database``, GAPSCOPE_DATABASE, the server's file, or the data folder's."""

from __future__ import annotations

import argparse
import difflib
import os
from pathlib import Path
from typing import Any

import msgspec

from gapscope_backend.cli.errors import UsageError
from gapscope_backend.cli.folder import existing

DATABASE = "GAPSCOPE_DATABASE"
ROLES = ("all", "api", "worker")


class ServerFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table ``[server]`` of a configuration file; None is the option's own default."""

    database: str | None = None
    listen: str | None = None
    port: int | None = None
    retention_hours: float | None = None
    retention_10s_days: float | None = None
    retention_5min_days: float | None = None
    retention_minutes_days: float | None = None
    role: str | None = None
    webhook_allow: list[str] | None = None
    alerts: str | None = None
    public_url: str | None = None

    def __post_init__(self) -> None:
        if self.role is not None and self.role not in ROLES:
            raise UsageError(f"[server] role = {self.role!r}: want one of {', '.join(ROLES)}")


KEYS = ServerFile.__struct_fields__


def add_database_options(parser: argparse.ArgumentParser) -> None:
    """``--database URL`` and ``--config FILE``."""
    parser.add_argument(
        "--database",
        metavar="URL",
        help=f"postgresql://USER@HOST/NAME, or sqlite:///FILE (default: {DATABASE}, else SQLite in the data folder); "
        "a password stands better in PGPASSWORD or a pgpass file",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file whose table [server] holds settings")


def read_server_file(path: Path | None) -> ServerFile:
    """The table ``[server]`` of a file, empty without one. Raises UsageError that names what is wrong and where."""
    if path is None:
        return ServerFile()
    try:
        table: Any = msgspec.toml.decode(path.read_bytes()).get("server", {})
        for key in dict(table):
            if key not in KEYS:
                nearest = difflib.get_close_matches(key, KEYS, n=1, cutoff=0.5) or [", ".join(KEYS)]
                raise UsageError(f"{path}: [server] {key}: there is no such setting; known is {nearest[0]}")
        return msgspec.convert(table, ServerFile)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except (msgspec.DecodeError, TypeError) as error:
        raise UsageError(f"{path}: {error}") from error


def config_words(arguments: argparse.Namespace) -> tuple[str, ...]:
    """``--config`` for a process that this one starts; it reads the same file."""
    return ("--config", str(arguments.config)) if arguments.config else ()


def chosen_database(arguments: argparse.Namespace) -> str | None:
    """The address that was given, or None for that of the data folder."""
    given = arguments.database or os.environ.get(DATABASE)
    return given or read_server_file(arguments.config).database


def database_of(arguments: argparse.Namespace) -> str:
    """Address of a database that is there. NoDataError for a data folder that holds none."""
    from gapscope_backend.services.admin import database_url

    return chosen_database(arguments) or database_url(existing(arguments.data))
