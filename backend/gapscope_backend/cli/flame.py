"""``gapscope flame DIR_OR_HOST``: Python stacks folded, for flamegraph.pl, for speedscope, or as JSON."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from gapscope_backend.cli.arguments import add_server_options
from gapscope_backend.cli.errors import UsageError
from gapscope_backend.cli.targets import Target, parse_span, parse_target

WHERE = ("all", "idle", "gaps", "outside")
FORMATS = ("collapsed", "speedscope", "json")


def add_parser(commands: Any) -> None:
    """Options of ``gapscope flame``."""
    parser = commands.add_parser(
        "flame",
        help="fold Python stacks into a flame graph: all, or those of the GPU's gaps",
        description="A directory is a recording and is read on this machine; any other word is the name of a host and "
        "its server is asked. A span stands behind an @ (DIR@+5s..+20s, HOST@now-10m..now).",
    )
    parser.add_argument("target", metavar="DIR_OR_HOST", help="folder of a recording, or name of a host")
    parser.add_argument("--where", choices=WHERE, default="all", help="which samples count (default: all)")
    parser.add_argument("--against", choices=WHERE, help="the other side of a difference")
    parser.add_argument("--gpu", type=int, metavar="INDEX", help="the GPU whose gaps count (default: all)")
    parser.add_argument(
        "--span", action="append", default=[], metavar="FROM..TO", help="only this part counts; may be repeated"
    )
    parser.add_argument("--pid", type=int, action="append", default=[], help="only this process; may be repeated")
    parser.add_argument("--by", choices=("none", "process", "thread"), default="none", help="what stands at the root")
    parser.add_argument("--on-cpu", action="store_true", help="leave out threads that waited")
    parser.add_argument("--format", choices=FORMATS, default="collapsed", help="default: collapsed")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write there instead of to standard output")
    add_server_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the flame graph. Raises UsageError for a recording without stacks."""
    target = parse_target(arguments.target)
    text = _of_host(target, arguments) if target.folder is None else _of_recording(target, arguments)
    if arguments.output is None:
        sys.stdout.write(text)
    else:
        arguments.output.write_text(text)
    return 0


def _of_recording(target: Target, arguments: argparse.Namespace) -> str:
    import msgspec

    from gapscope_agent.recording.read import open_recording
    from gapscope_backend.analysis.flame import Choice, build_flame, collapsed, speedscope
    from gapscope_backend.analysis.verdict import Span

    assert target.folder is not None
    window = target.window()
    if window.stacks is None:
        raise UsageError(f"{target.name} holds no Python stacks in this span")
    begin = open_recording(target.folder).origin.start_ns
    spans = [parse_span(text) for text in arguments.span]
    choice = Choice(
        where=arguments.where,
        against=arguments.against,
        gpu=arguments.gpu,
        spans=tuple(
            Span(
                window.start_ns if span.start is None else span.start.after(begin),
                window.end_ns if span.end is None else span.end.after(begin),
            )
            for span in spans
        ),
        pids=tuple(arguments.pid),
        by=arguments.by,
        on_cpu=arguments.on_cpu,
    )
    flame = build_flame(window, choice)
    if arguments.format == "collapsed":
        return collapsed(flame)
    answer = flame if arguments.format == "json" else speedscope(flame, target.label)
    return msgspec.json.encode(answer).decode() + "\n"


def _of_host(target: Target, arguments: argparse.Namespace) -> str:
    from gapscope_backend.cli.diagnosis_client import fetch

    start, end = target.times()
    spans = ("..".join(Target(target.name, parse_span(text), None).times()) for text in arguments.span)
    query = [
        ("from", start),
        ("to", end),
        ("where", arguments.where),
        ("by", arguments.by),
        ("format", arguments.format),
        ("min_share", "0"),
        ("on_cpu", "true" if arguments.on_cpu else "false"),
        *(("span", text) for text in spans),
        *(("pid", str(pid)) for pid in arguments.pid),
    ]
    query += [] if arguments.against is None else [("against", arguments.against)]
    query += [] if arguments.gpu is None else [("gpu", str(arguments.gpu))]
    return fetch(arguments.server, arguments.token_file, ("hosts", target.name, "flame"), query).decode()
