"""``gapscope check [DIR_OR_HOST]``: the go-live checklist on a recording, a host, or this host live."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from gapscope_backend.analysis.checklist.model import FAIL, Checklist
from gapscope_backend.analysis.language import Language
from gapscope_backend.cli.arguments import add_server_options
from gapscope_backend.cli.errors import UsageError
from gapscope_backend.cli.language import add_language_option, language_of, write_json
from gapscope_backend.cli.targets import Target, parse_target

SHORTEST_SECONDS, LONGEST_SECONDS, DEFAULT_SECONDS = 3.0, 600.0, 30.0


def add_parser(commands: Any) -> None:
    """Options of ``gapscope check``."""
    parser = commands.add_parser(
        "check",
        help="go through the checklist before a service or a training goes live",
        description="Without a target this host is sampled now, under the load that it has. A directory is a "
        "recording, any other word a host of a server; DIR@+5s..+20s and HOST@FROM..TO choose a part. Exit code 1 "
        "when a line fails.",
    )
    parser.add_argument("target", nargs="?", metavar="DIR_OR_HOST", help="a recording, or a host (default: this host)")
    parser.add_argument("--seconds", type=_seconds, help=f"how long to sample this host (default: {DEFAULT_SECONDS:g})")
    parser.add_argument("--json", action="store_true", help="print the whole answer as JSON")
    add_language_option(parser)
    add_server_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the checklist; 1 when a line fails."""
    if arguments.target and arguments.seconds is not None:
        raise UsageError("--seconds is for this host live; choose a part of a recording or host as TARGET@FROM..TO")
    language = language_of(arguments)
    found = _find(arguments, language)
    if arguments.json:
        write_json(found, language)
    else:
        from gapscope_backend.cli.checklist import render_checklist

        sys.stdout.write(render_checklist(found, color=sys.stdout.isatty(), language=language))
    return 1 if found.status == FAIL else 0


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds") from None
    if not SHORTEST_SECONDS <= value <= LONGEST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text} is not between {SHORTEST_SECONDS:g} and {LONGEST_SECONDS:g} seconds")
    return value


def _find(arguments: argparse.Namespace, language: Language) -> Checklist:
    from gapscope_backend.analysis.checklist import run_checklist

    if not arguments.target:
        from gapscope_backend.cli.live_window import sample_window

        seconds = DEFAULT_SECONDS if arguments.seconds is None else arguments.seconds
        sys.stderr.write(f"sampling this host for {seconds:g} s\n")
        return run_checklist(sample_window(seconds))
    target = parse_target(arguments.target)
    return _ask(arguments, target, language) if target.folder is None else run_checklist(target.window())


def _ask(arguments: argparse.Namespace, target: Target, language: Language) -> Checklist:
    from gapscope_backend.cli.diagnosis_client import ask

    start, end = target.times()
    query, path = [("from", start), ("to", end)], ("hosts", target.name, "check")
    return ask(arguments.server, arguments.token_file, path, query, Checklist, "a checklist", language)
