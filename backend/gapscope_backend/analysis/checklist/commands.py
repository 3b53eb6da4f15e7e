"""Known servers and trainers among the processes, by their command lines, with their options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from gapscope_backend.analysis.window import Process

_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")


@dataclass(frozen=True)
class Program:
    """``name`` of the server or trainer; ``options`` as given, dashes and underscores alike; flags hold ``true``."""

    name: str
    pid: int
    options: Mapping[str, str]

    def number(self, *names: str) -> float | None:
        """The first of the options that is given and is a number."""
        given = (self.options[name] for name in names if name in self.options)
        return next((float(text) for text in given if _NUMBER.fullmatch(text)), None)

    def text(self, *names: str) -> str:
        """The first of the options that is given; empty where none is."""
        return next((self.options[name] for name in names if name in self.options), "")


PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("vllm", re.compile(r"(?:^|[\s/])vllm serve\b|\bvllm\.entrypoints\b")),
    ("sglang", re.compile(r"sglang\.launch_server|(?:^|[\s/])sglang serve\b")),
    ("tritonserver", re.compile(r"(?:^|[\s/])tritonserver(?:\s|$)")),
    (
        "torchserve",
        re.compile(r"(?:^|[\s/])torchserve(?:\s|$)|org\.pytorch\.serve\.ModelServer|ts/model_service_worker\.py"),
    ),
    ("text-generation-inference", re.compile(r"text-generation-(?:launcher|router|server)")),
    ("accelerate", re.compile(r"(?:^|[\s/])accelerate launch\b|accelerate\.commands\.launch")),
    ("torchrun", re.compile(r"(?:^|[\s/])torchrun(?:\s|$)|torch\.distributed\.(?:run|launch)\b")),
)
"""By the command line; the first that matches names the program."""
TRAINER = re.compile(r"--(?:per[-_]device[-_]train[-_]batch[-_]size|dataloader[-_]num[-_]workers)\b")
"""Options of the Transformers trainer, whatever script takes them."""


def read_options(words: list[str]) -> dict[str, str]:
    """``--name value``, ``--name=value`` and ``--flag`` of a command line."""
    options: dict[str, str] = {}
    for place, word in enumerate(words):
        if not word.startswith("--") or len(word) < 3:
            continue
        name, equals, value = word[2:].partition("=")
        following = words[place + 1] if place + 1 < len(words) else "--"
        given = value if equals else "true" if following.startswith("--") else following
        options.setdefault(name.replace("_", "-").lower(), given)
    return options


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # an unbalanced quote, as in a command line that was cut off
        return command.split()


def known_programs(processes: tuple[Process, ...]) -> tuple[Program, ...]:
    """Programs in the order of their pids; a command line that names none is left out."""
    found = []
    for process in processes:
        named = next((name for name, pattern in PATTERNS if pattern.search(process.command)), "")
        if not named and TRAINER.search(process.command):
            named = "transformers trainer"
        if named:
            found.append(Program(named, process.pid, read_options(_words(process.command))))
    return tuple(found)
