"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def last_used_file() -> Path:
    """Where ``gapscope up`` notes its data folder, so that other commands of this user find it (XDG state folder)."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "gapscope" / "data-folder"


def default_data_folder() -> Path:
    """GAPSCOPE_DATA, or the user's data folder by the XDG base directory specification."""
    chosen = os.environ.get("GAPSCOPE_DATA")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "gapscope"


def known_data_folder() -> Path:
    """The folder of the last ``gapscope up`` where there was one, else the default one."""
    if "GAPSCOPE_DATA" not in os.environ and last_used_file().is_file():
        return Path(last_used_file().read_text().strip())
    return default_data_folder()


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """``--data DIR``: where database, tokens and logs lie."""
    parser.add_argument(
        "--data", type=Path, metavar="DIR", default=default_data_folder(), help="data folder (default: %(default)s)"
    )


def add_known_data_option(parser: argparse.ArgumentParser) -> None:
    """``--data DIR`` of commands that need a folder that is there."""
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        default=known_data_folder(),
        help="data folder of the server (default: that of the last `gapscope up`, %(default)s)",
    )


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """``--server`` and ``--token-file`` of commands that talk to a server."""
    parser.add_argument("--server", metavar="URL", help="address of the server, such as http://127.0.0.1:8765")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="file that holds the access token")


def positive_speed(text: str) -> float:
    """Argument type of ``--speed``: a number above 0."""
    value = float(text)
    if not 0 < value <= 10_000:
        raise argparse.ArgumentTypeError(f"{text} is not a speed between 0 and 10000")
    return value


def positive_seconds(text: str) -> float:
    """Argument type of ``--seconds``: more than 0, at most a day."""
    value = float(text)
    if not 0 < value <= 86_400:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds between 0 and 86400")
    return value


def add_replay_options(parser: argparse.ArgumentParser) -> None:
    """How a recording is played."""
    parser.add_argument("--speed", type=positive_speed, default=1.0, help="times its own pace (default: 1)")
    parser.add_argument(
        "--at-recorded-time", action="store_true", help="keep the recorded times instead of moving them to now"
    )
    parser.add_argument("--loop", action="store_true", help="start again when it ends")
