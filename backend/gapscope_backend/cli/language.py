"""``--language`` of commands that tell what the analysis found, and their answers as JSON."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from typing import Any

from gapscope_backend.analysis.language import (
    DEFAULT_LANGUAGE,
    LANGUAGES,
    Language,
    language_of_environment,
    read_language,
    rendered,
)


def add_language_option(parser: argparse.ArgumentParser) -> None:
    """``--language TAG``."""
    parser.add_argument(
        "--language",
        type=_language,
        metavar="TAG",
        help="language of the answer: en, or zh-Hans (also zh, zh-CN); by default that of the locale for text, and "
        "English for --json",
    )


def language_of(arguments: argparse.Namespace) -> Language:
    """The option's; without it the locale's, for text alone: programs get the same JSON everywhere."""
    chosen: Language | None = arguments.language
    if chosen is not None:
        return chosen
    return DEFAULT_LANGUAGE if arguments.json else language_of_environment(os.environ)


def write_json(answer: Any, language: Language) -> None:
    """An answer (a dataclass, or a list of them) as one line of JSON."""
    plain = [dataclasses.asdict(one) for one in answer] if isinstance(answer, list) else dataclasses.asdict(answer)
    json.dump(rendered(plain, language), sys.stdout, allow_nan=False)
    sys.stdout.write("\n")


def _language(text: str) -> Language:
    language = read_language(text)
    if language is None:
        raise argparse.ArgumentTypeError(f"{text} is not spoken here; there is: {', '.join(LANGUAGES)}")
    return language
