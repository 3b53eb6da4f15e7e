"""``gapscope explain DIR_OR_HOST --what-differs``: the gaps of each GPU against the rest."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from gapscope_backend.analysis.contrast.model import Contrast
from gapscope_backend.analysis.language import Language
from gapscope_backend.analysis.verdict import Span as TimeSpan
from gapscope_backend.analysis.window import Window
from gapscope_backend.cli.errors import UsageError
from gapscope_backend.cli.language import language_of, write_json
from gapscope_backend.cli.targets import Span, Target, parse_span, parse_target


def print_differences(arguments: argparse.Namespace) -> int:
    """Print what differs, as text or JSON (a list with one object a GPU)."""
    target = parse_target(arguments.target, Span(arguments.start, arguments.end))
    language = language_of(arguments)
    spans = [parse_span(text) for text in arguments.span]
    found = (
        _ask(target, arguments, spans, language)
        if target.folder is None
        else _of_recording(target, arguments.gpu, spans)
    )
    if arguments.json:
        write_json(found, language)
    else:
        from gapscope_backend.cli.differences import render_contrasts

        sys.stdout.write(render_contrasts(found, language))
    return 0


def _of_recording(target: Target, index: int | None, spans: Sequence[Span]) -> list[Contrast]:
    from gapscope_agent.recording.read import open_recording
    from gapscope_backend.analysis.contrast import contrast

    assert target.folder is not None
    window = target.window()
    begin = open_recording(target.folder).origin.start_ns
    chosen = [gpu for gpu in window.gpus if index is None or gpu.index == index]
    if not chosen:
        there = ", ".join(str(gpu.index) for gpu in window.gpus) or "none"
        raise UsageError(f"there is no GPU {'' if index is None else index} here; there is: {there}")
    times = [_times(span, window, begin) for span in spans]
    return [contrast(window, gpu, times or None) for gpu in chosen]


def _times(span: Span, window: Window, begin: int) -> TimeSpan:
    start = window.start_ns if span.start is None else span.start.after(begin)
    end = window.end_ns if span.end is None else span.end.after(begin)
    if not window.start_ns <= start < end <= window.end_ns:
        raise UsageError("--span must lie inside what is looked at, its FROM before its TO")
    return TimeSpan(start, end)


def _ask(target: Target, arguments: argparse.Namespace, spans: Sequence[Span], language: Language) -> list[Contrast]:
    from gapscope_backend.cli.diagnosis_client import ask

    start, end = target.times()
    query = [("from", start), ("to", end)]
    query += [] if arguments.gpu is None else [("gpu", str(arguments.gpu))]
    query += [("span", "..".join(Target(target.name, span, None).times())) for span in spans]
    path = ("hosts", target.name, "contrast")
    return ask(arguments.server, arguments.token_file, path, query, list[Contrast], "what differs", language)
