"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def default_data_folder() -> Path:
    """GAPSCOPE_DATA, or the user's data folder by the XDG base directory specification."""
    chosen = os.environ.get("GAPSCOPE_DATA")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "gapscope"


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """``--data DIR``: where database, tokens and logs lie."""
    parser.add_argument(
        "--data", type=Path, metavar="DIR", default=default_data_folder(), help="data folder (default: %(default)s)"
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


def add_replay_options(parser: argparse.ArgumentParser) -> None:
    """How a recording is played."""
    parser.add_argument("--speed", type=positive_speed, default=1.0, help="times its own pace (default: 1)")
    parser.add_argument(
        "--at-recorded-time", action="store_true", help="keep the recorded times instead of moving them to now"
    )
    parser.add_argument("--loop", action="store_true", help="start again when it ends")
