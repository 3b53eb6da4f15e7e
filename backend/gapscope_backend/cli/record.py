"""``gapscope record DIR --seconds N``: what this host's drivers and kernel answer, before any arithmetic."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from gapscope_backend.cli.arguments import positive_seconds


def add_parser(commands: Any) -> None:
    """Options of ``gapscope record``."""
    parser = commands.add_parser("record", help="record this host's readings into a folder")
    parser.add_argument("directory", type=Path, help="a new or empty folder")
    parser.add_argument("--seconds", type=positive_seconds, required=True, help="how long to record")


def run(arguments: argparse.Namespace) -> int:
    """Record and print where it lies."""
    from gapscope_agent.recording.read import open_recording
    from gapscope_agent.recording.write import record

    record(arguments.directory, arguments.seconds)
    for note in open_recording(arguments.directory).origin.notes:
        print(note)
    print(f"recorded {arguments.seconds:g} s into {arguments.directory}; next: gapscope explain {arguments.directory}")
    return 0
