"""``gapscope record DIR --seconds N``: what this host's drivers and kernel answer, before any arithmetic."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapscope_backend.cli.arguments import positive_seconds

if TYPE_CHECKING:
    from gapscope_agent.reading import Reading

STACK_RATE_HERTZ, STACK_CPU_CORES = 10, 0.5
"""A recording is short and made on purpose, so its stacks may be dense."""


def add_parser(commands: Any) -> None:
    """Options of ``gapscope record``."""
    parser = commands.add_parser("record", help="record this host's readings into a folder")
    parser.add_argument("directory", type=Path, help="a new or empty folder")
    parser.add_argument("--seconds", type=positive_seconds, required=True, help="how long to record")
    parser.add_argument("--no-stacks", action="store_true", help="take no Python stacks")
    parser.add_argument(
        "--stacks-of",
        type=int,
        action="append",
        default=[],
        metavar="PID",
        help="take the stacks of this process too, whether it holds a GPU or not (repeatable)",
    )
    parser.add_argument("--helper-socket", type=Path, metavar="PATH", help="socket of `gapscope stack-helper`")


def _about_stacks(readings: Iterable[Reading]) -> str:
    """What was taken of stacks, and why not more."""
    from gapscope_agent.reading import SourceState, Stacks

    snapshots: Counter[int] = Counter()
    reasons: dict[str, str] = {}
    for reading in readings:
        if isinstance(reading, Stacks):
            snapshots[reading.pid] += 1
        elif isinstance(reading, SourceState) and reading.source.startswith("stacks"):
            reasons[reading.source] = reading.reason
    if not snapshots and not any(reasons.values()):
        return "stacks: none; no process holds a GPU (--stacks-of PID takes those of another)"
    taken = f"stacks: {snapshots.total()} snapshots of {len(snapshots)} processes"
    return "\n".join([taken, *(f"stacks: {reason}" for reason in reasons.values() if reason)])


def run(arguments: argparse.Namespace) -> int:
    """Record and print where it lies."""
    from gapscope_agent.recording.read import open_recording
    from gapscope_agent.recording.write import record
    from gapscope_agent.stacks.settings import StackSettings

    wanted = StackSettings(
        burst_rate_hertz=STACK_RATE_HERTZ, max_cpu_cores=STACK_CPU_CORES, helper_socket=arguments.helper_socket
    )
    stacks = None if arguments.no_stacks else wanted
    record(arguments.directory, arguments.seconds, stacks=stacks, stacks_of=arguments.stacks_of)
    recording = open_recording(arguments.directory)
    for note in recording.origin.notes:
        print(note)
    if stacks is not None:
        print(_about_stacks(recording.readings()))
    print(f"recorded {arguments.seconds:g} s into {arguments.directory}; next: gapscope explain {arguments.directory}")
    return 0
