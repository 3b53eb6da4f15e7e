"""``gapscope compare A B [C...]``: recordings, or spans of hosts, side by side."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from gapscope_backend.analysis.compare.model import Comparison
from gapscope_backend.analysis.language import Language
from gapscope_backend.cli.arguments import add_server_options
from gapscope_backend.cli.errors import UsageError
from gapscope_backend.cli.language import add_language_option, language_of, write_json
from gapscope_backend.cli.targets import Target, parse_target

MOST = 8


def add_parser(commands: Any) -> None:
    """Options of ``gapscope compare``."""
    parser = commands.add_parser(
        "compare",
        help="set recordings or spans of hosts side by side: what changed, what is the next limit",
        description="Each of A, B, ... is the folder of a recording or the name of a host, with a span of it where "
        "only a part is meant: DIR@+5s..+20s, HOST@2026-01-31T12:00:00Z..2026-01-31T12:05:00Z. Hosts are asked of "
        "their server, by default about the last 5 minutes.",
    )
    parser.add_argument("target", nargs="+", metavar="TARGET", help="at least two; the first is what was before")
    parser.add_argument("--json", action="store_true", help="print the whole answer as JSON")
    add_language_option(parser)
    add_server_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the comparison."""
    if not 2 <= len(arguments.target) <= MOST:
        raise UsageError(f"give 2 to {MOST} recordings or hosts to compare, not {len(arguments.target)}")
    language = language_of(arguments)
    targets = [parse_target(text) for text in arguments.target]
    recordings = [target for target in targets if target.folder is not None]
    if not recordings:
        found = _ask(arguments, targets, language)
    elif len(recordings) == len(targets):
        found = _of_recordings(targets)
    else:
        missing = next(target.name for target in targets if target.folder is None)
        raise UsageError(f"{missing} is no folder; compare recordings with recordings, and hosts with hosts")
    if arguments.json:
        write_json(found, language)
    else:
        from gapscope_backend.cli.comparison import render_comparison

        sys.stdout.write(render_comparison(found, language))
    return 0


def _of_recordings(targets: Sequence[Target]) -> Comparison:
    from gapscope_backend.analysis.compare import compare_subjects, read_subject

    return compare_subjects([read_subject(target.label, target.window()) for target in targets])


def _ask(arguments: argparse.Namespace, targets: Sequence[Target], language: Language) -> Comparison:
    from gapscope_backend.cli.diagnosis_client import ask

    spans = ["..".join(target.times()) for target in targets]
    query = [
        (letter, f"{target.name}@{span}") for letter, target, span in zip("abcdefgh", targets, spans, strict=False)
    ]
    return ask(arguments.server, arguments.token_file, ("compare",), query, Comparison, "a comparison", language)
