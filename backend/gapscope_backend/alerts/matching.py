"""What a rule's scope and a silence's matchers take: names with ``*`` and ``?``, never regular expressions.

A pattern that somebody wrote must not be able to hold up the evaluator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from gapscope_backend.alerts.look import GpuFacts, HostFacts

FORM = "write it as name=pattern or name!=pattern, for example host=node-* or rule!=gpu-drop"
MAX_PATTERN = 200
_MATCHER = re.compile(r"([A-Za-z_][A-Za-z0-9_.:/-]{0,99})\s*(!=|=)\s*(.{0,200})", re.DOTALL)


@dataclass(frozen=True)
class Scope:
    """Where a rule looks: names with wildcards; an empty list takes all. ``labels`` are those of the host."""

    hosts: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    labels: Mapping[str, str] | None = None

    def takes_host(self, host: HostFacts) -> bool:
        """Whether the host's name and labels fit."""
        named = not self.hosts or any(fits(host.name, pattern) for pattern in self.hosts)
        return named and all(fits(host.labels.get(name, ""), told) for name, told in (self.labels or {}).items())

    def takes(self, gpu: GpuFacts | None, job: str) -> bool:
        """Whether a GPU (by index, key, UUID or name) and a job (by command) fit."""
        if self.jobs and not any(fits(job, pattern) for pattern in self.jobs):
            return False
        if not self.gpus or gpu is None:
            return True
        names = (str(gpu.index), gpu.key, gpu.key.removeprefix("gpu:"), gpu.name)
        return any(fits(name, pattern) for name in names for pattern in self.gpus)


@dataclass(frozen=True)
class Matcher:
    """A label that must fit a pattern, or must not where ``negative``. A label that is absent is empty."""

    name: str
    pattern: str
    negative: bool = False

    def to_plain(self) -> dict[str, Any]:
        """As plain data."""
        return {"name": self.name, "pattern": self.pattern, "negative": self.negative}

    def __str__(self) -> str:
        return f"{self.name}{'!=' if self.negative else '='}{self.pattern}"


def fits(value: str, pattern: str) -> bool:
    """Whether a name fits a pattern."""
    return fnmatchcase(value, pattern)


def read_matcher(told: object) -> Matcher:
    """Raises ValueError that says what is wrong and what to write."""
    found = _MATCHER.fullmatch(told.strip()) if isinstance(told, str) else None
    if found is None:
        raise ValueError(f"{str(told)[:60]!r} is no matcher; {FORM}")
    return Matcher(found[1], found[3].strip().strip('"'), found[2] == "!=")


def matchers_of(rows: Iterable[Mapping[str, Any]]) -> list[Matcher]:
    """Matchers as they are stored."""
    return [Matcher(row["name"], row["pattern"], bool(row.get("negative"))) for row in rows]


def matches(matchers: Sequence[Matcher], labels: Mapping[str, str]) -> bool:
    """Whether labels fit all matchers; no matchers fit nothing."""
    return bool(matchers) and all(fits(labels.get(one.name, ""), one.pattern) != one.negative for one in matchers)
