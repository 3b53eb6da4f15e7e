"""``gapscope explain DIR_OR_HOST``: what the GPUs of a recording or of a host waited for, with the evidence."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gapscope_backend.analysis.language import Language
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.cli.arguments import add_server_options
from gapscope_backend.cli.errors import UsageError
from gapscope_backend.cli.language import add_language_option, language_of, write_json
from gapscope_backend.cli.moments import Moment, parse_moment
from gapscope_backend.cli.targets import DEFAULT_FROM


def add_parser(commands: Any) -> None:
    """Options of ``gapscope explain``."""
    parser = commands.add_parser(
        "explain",
        help="say what the GPUs of a recording or a host waited for, with evidence",
        description="A directory is a recording, a file one that `gapscope incident export` wrote: both are read "
        "on this machine. Any other word is the name of a host "
        "and its server is asked (by default about the last 5 minutes).",
    )
    parser.add_argument("target", metavar="DIR_OR_HOST", help="folder of a recording, an incident file, or a host")
    when = "ISO 8601 time; for a recording also +SECONDS from its start, for a host now-15m"
    parser.add_argument("--from", dest="start", type=_moment, metavar="TIME", help=f"begin of the span: {when}")
    parser.add_argument("--to", dest="end", type=_moment, metavar="TIME", help="end of the span, in the same forms")
    parser.add_argument("--json", action="store_true", help="print the whole answer as JSON")
    parser.add_argument(
        "--what-differs",
        action="store_true",
        help="instead of the verdict: what the host does in the GPU's gaps that it does not do in the rest",
    )
    parser.add_argument("--gpu", type=int, metavar="INDEX", help="with --what-differs: only this GPU")
    parser.add_argument(
        "--span",
        action="append",
        default=[],
        metavar="FROM..TO",
        help="with --what-differs: set this span against the rest, instead of the gaps; may be repeated",
    )
    add_language_option(parser)
    add_server_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the verdict; errors of input are raised with a message for the user."""
    if (arguments.gpu is not None or arguments.span) and not arguments.what_differs:
        raise UsageError("--gpu and --span go with --what-differs; a verdict is about all GPUs and the whole span")
    folder = Path(arguments.target)
    if arguments.what_differs:
        from gapscope_backend.cli.what_differs import print_differences

        return print_differences(arguments)
    language = language_of(arguments)
    notes: Sequence[str] = ()
    if folder.is_dir():
        answer, notes = _explain_recording(folder, arguments.start, arguments.end)
    elif folder.is_file():
        answer, notes = asyncio.run(_explain_file(folder, arguments.start, arguments.end))
    elif folder.exists() or "/" in arguments.target:
        raise UsageError(f"{arguments.target} is no folder; name the folder of a recording, or a host")
    else:
        answer = _explain_host(arguments, language)
    if arguments.json:
        write_json(answer, language)
    else:
        from gapscope_backend.cli.report import render

        sys.stdout.write(render(answer, color=sys.stdout.isatty(), language=language, notes=notes))
    return 0


def _moment(text: str) -> Moment:
    try:
        return parse_moment(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _explain_recording(folder: Path, start: Moment | None, end: Moment | None) -> tuple[Verdict, Sequence[str]]:
    """The verdict, and what the recording says of itself."""
    from gapscope_agent.recording.read import open_recording
    from gapscope_backend.analysis.diagnose import diagnose
    from gapscope_backend.cli.windows import window_of_recording

    origin = open_recording(folder).origin
    begin = origin.start_ns
    window = window_of_recording(
        folder,
        None if start is None else start.after(begin),
        None if end is None else end.after(begin),
    )
    return diagnose(window), origin.notes


async def _explain_file(path: Path, start: Moment | None, end: Moment | None) -> tuple[Verdict, Sequence[str]]:
    """The verdict on an incident file, and what the incident said when the file was made."""
    from gapscope_backend.services.incident_files import explain_file, opened_file

    async with opened_file(path) as opened:
        begin = opened.host.first_data_ns
        bounds = (None if moment is None else moment.after(begin) for moment in (start, end))
        return await explain_file(opened, *bounds), (opened.about,)


def _explain_host(arguments: argparse.Namespace, language: Language) -> Verdict:
    from gapscope_backend.cli.diagnosis_client import fetch_verdict

    start, end = arguments.start, arguments.end
    return fetch_verdict(
        host=arguments.target,
        server=arguments.server,
        token_file=arguments.token_file,
        start=DEFAULT_FROM if start is None else start.asked(),
        end="now" if end is None else end.asked(),
        language=language,
    )
