"""A rule, and the reading of one from plain data with errors that say what, where and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timezone, tzinfo
from difflib import get_close_matches
from typing import Any

import msgspec

from gapscope_backend.alerts.durations import read_duration
from gapscope_backend.alerts.matching import MAX_PATTERN, Scope
from gapscope_backend.alerts.quiet import Quiet, is_quiet, read_quiet, read_zone
from gapscope_backend.alerts.rules import BY_NAME
from gapscope_backend.alerts.rules.kind import CLASSES, SECOND_NS, Kind
from gapscope_backend.alerts.states import Timing
from gapscope_backend.analysis.causes import BY_ID
from gapscope_backend.errors import BackendError

SEVERITIES = ("info", "warning", "critical")
GROUPED_BY = ("rule", "host", "gpu", "job", "cause", "severity")
RULE_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
MAX_NAMES = 100


class RuleError(BackendError):
    """A rule that cannot be used: ``path`` is where, ``detail`` what and what to do."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(f"{path}: {detail}")
        self.path = path
        self.detail = detail


@dataclass(frozen=True)
class Rule:
    """A rule that was checked; times in seconds."""

    id: str
    kind: Kind
    settings: Any
    name: str = ""
    enabled: bool = True
    scope: Scope = field(default_factory=Scope)
    for_seconds: float = 0.0
    clear_for_seconds: float = 0.0
    warm_up_seconds: float = 60.0
    severity: str = "warning"
    channels: tuple[str, ...] = ("*",)
    group_by: tuple[str, ...] = ("rule", "host")
    group_wait_seconds: float = 1.0
    group_interval_seconds: float = 30.0
    repeat_seconds: float = 4 * 3600.0
    quiet: tuple[Quiet, ...] = ()
    zone: tzinfo = timezone.utc
    labels: Mapping[str, str] = field(default_factory=dict)
    unless: tuple[str, ...] = ()

    @property
    def timing(self) -> Timing:
        """For the state machine."""
        gap, covers = round(self.kind.gap_seconds * SECOND_NS), round(self.kind.covers_seconds * SECOND_NS)
        return Timing(round(self.for_seconds * SECOND_NS), round(self.clear_for_seconds * SECOND_NS), gap, covers)

    def is_quiet(self, now_ns: int) -> bool:
        """Whether nobody is to be told now."""
        return is_quiet(self.quiet, self.zone, now_ns)


def read_rule(rule_id: str, told: Mapping[str, Any], where: str = "") -> Rule:
    """A rule from plain data. Raises RuleError for the first thing that is wrong with it."""
    if not RULE_ID.fullmatch(rule_id):
        raise RuleError(where or rule_id[:80], "a rule's name is of a-z, 0-9, - and _, at most 64 of them")
    where = where or rule_id
    kind = _kind(told, where)
    own = {name: told[name] for name in kind.settings.__struct_fields__ if name in told}
    for key in told:
        if key != "kind" and key not in own and key not in _FIELDS:
            raise RuleError(f"{where}.{key}", _no_such(key, [*kind.settings.__struct_fields__, *_FIELDS], "setting"))
    values: dict[str, Any] = {}
    scope: dict[str, Any] = {}
    for key, (name, read) in _FIELDS.items():
        if key in told:
            try:
                (scope if key in _SCOPE else values)[name] = read(told[key])
            except ValueError as error:
                raise RuleError(f"{where}.{key}", str(error)) from error
    return Rule(rule_id, kind, _settings(kind, own, where), scope=Scope(**scope), **values)


def _kind(told: Mapping[str, Any], where: str) -> Kind:
    name = told.get("kind")
    if name is None:
        raise RuleError(where, f"kind is missing; it is one of {', '.join(BY_NAME)}")
    if not isinstance(name, str) or name not in BY_NAME:
        raise RuleError(f"{where}.kind", _no_such(str(name), [*BY_NAME], "kind"))
    return BY_NAME[name]


def _settings(kind: Kind, own: Mapping[str, Any], where: str) -> Any:
    for key in ("causes", "except_causes"):
        for cause in own[key] if isinstance(own.get(key), list | tuple) else ():
            if cause not in BY_ID and cause not in CLASSES:
                raise RuleError(f"{where}.{key}", _no_such(str(cause), [*BY_ID, *CLASSES], "cause"))
    try:
        settings = msgspec.convert(own, kind.settings)
    except msgspec.ValidationError as error:
        told, _, path = str(error).partition(" - at `$")
        raise RuleError(f"{where}{path.rstrip('`')}", told) from error
    clear, limit = getattr(settings, "clear_share", None), getattr(settings, "share", None)
    if clear is not None and limit is not None and clear > limit:
        raise RuleError(f"{where}.clear_share", f"{clear:g} lies above share ({limit:g}): an alert would never clear")
    return settings


def _no_such(given: str, known: list[str], what: str) -> str:
    nearest = get_close_matches(given, known, n=1, cutoff=0.5)
    hint = f"did you mean {nearest[0]}?" if nearest else f"known are {', '.join(known)}"
    return f"there is no {what} {given[:60]!r}; {hint}"


def _text(told: object) -> str:
    if not isinstance(told, str) or len(told) > MAX_PATTERN:
        raise ValueError(f"want a text of at most {MAX_PATTERN} characters")
    return told


def _flag(told: object) -> bool:
    if not isinstance(told, bool):
        raise ValueError(f"{told!r} is neither true nor false")
    return told


def _names(told: object) -> tuple[str, ...]:
    if isinstance(told, str | int) and not isinstance(told, bool):
        told = [told]
    if not isinstance(told, list | tuple) or len(told) > MAX_NAMES:
        raise ValueError(f'want a list of at most {MAX_NAMES} names, for example ["node-*"]')
    return tuple(_text(str(one) if isinstance(one, int) and not isinstance(one, bool) else one) for one in told)


def _labels(told: object) -> dict[str, str]:
    if not isinstance(told, dict) or len(told) > MAX_NAMES:
        raise ValueError('want a table of texts, for example { team = "ml" }')
    return {_text(name): _text(value) for name, value in told.items()}


def _one_of(known: tuple[str, ...]) -> Callable[[object], str]:
    def read(told: object) -> str:
        if told not in known:
            raise ValueError(f"{told!r}: want one of {', '.join(known)}")
        return str(told)

    return read


def _group_by(told: object) -> tuple[str, ...]:
    names = _names(told)
    for name in names:
        if name not in GROUPED_BY and not name.startswith("label:"):
            raise ValueError(f"{name!r}: want names of {', '.join(GROUPED_BY)}, or label:NAME")
    return names


def _quiet(told: object) -> tuple[Quiet, ...]:
    return tuple(read_quiet(one) for one in (told if isinstance(told, list | tuple) else [told]))


_SCOPE = ("hosts", "gpus", "jobs", "where")
_FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "name": ("name", _text),
    "enabled": ("enabled", _flag),
    "hosts": ("hosts", _names),
    "gpus": ("gpus", _names),
    "jobs": ("jobs", _names),
    "where": ("labels", _labels),
    "for": ("for_seconds", read_duration),
    "clear_for": ("clear_for_seconds", read_duration),
    "warm_up": ("warm_up_seconds", read_duration),
    "severity": ("severity", _one_of(SEVERITIES)),
    "channels": ("channels", _names),
    "group_by": ("group_by", _group_by),
    "group_wait": ("group_wait_seconds", read_duration),
    "group_interval": ("group_interval_seconds", read_duration),
    "repeat": ("repeat_seconds", read_duration),
    "quiet_hours": ("quiet", _quiet),
    "timezone": ("zone", read_zone),
    "labels": ("labels", _labels),
    "unless": ("unless", _names),
}
"""What every rule may say: by the name in a file, where it goes and how it is read."""
FIELDS = tuple(_FIELDS)
