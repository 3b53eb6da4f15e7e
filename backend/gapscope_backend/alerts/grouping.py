"""Who is to be told of what, and when: pure functions over alerts as they stand.

Alerts of one group are told together: the first after ``group_wait``, what comes after it at most every
``group_interval``, and an unchanged state again after ``repeat``. What is silenced, in quiet hours, or held back by
another rule's alert (``unless``) begins no message; when that is over it is told like anything new. That something
told as firing is over is always told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gapscope_backend.alerts.matching import Matcher, matches
from gapscope_backend.alerts.message import FIRING, RESOLVED
from gapscope_backend.alerts.rule import Rule
from gapscope_backend.alerts.rules.kind import SECOND_NS

UNSEEN = "unseen"
"""``told_state`` of an alert that had begun and ended before anybody looked."""


class AlertRow(Protocol):
    """What is read of an alert."""

    host_id: int
    id: str
    rule_id: str
    subject: str
    state: str
    group_key: str
    labels: dict[str, str]
    firing_ns: int | None
    updated_ns: int
    acknowledged_ns: int | None
    told_state: str
    told_ns: int | None
    told_count: int


@dataclass(frozen=True)
class SilenceSpan:
    """A silence that may be in force."""

    matchers: Sequence[Matcher]
    start_ns: int
    end_ns: int

    def holds(self, labels: Mapping[str, str], now_ns: int) -> bool:
        """Whether it silences an alert now."""
        return self.start_ns <= now_ns < self.end_ns and matches(self.matchers, labels)


@dataclass
class Due:
    """A message that is due: ``rows`` are the alerts that it tells of, firing ones first."""

    group_key: str
    state: str
    rule: Rule
    rows: list[Any]
    repeated: bool = False
    sequence: int = field(init=False)

    def __post_init__(self) -> None:
        self.sequence = 1 + max((row.told_count for row in self.rows), default=0)


def group_key(rule: Rule, labels: Mapping[str, str]) -> str:
    """What alerts of one group have in common."""
    named = [name.removeprefix("label:") for name in rule.group_by]
    return ",".join(f"{name}={labels.get(name, '')}" for name in dict.fromkeys(["rule", *named]))[:512]


def due_messages(
    rows: Iterable[Any], rules: Mapping[str, Rule], silences: Sequence[SilenceSpan], now_ns: int
) -> list[Due]:
    """The messages that are due now, of all alerts that fire or whose end was not told."""
    groups: dict[str, list[Any]] = {}
    listed = list(rows)
    for row in listed:
        groups.setdefault(row.group_key, []).append(row)
    firing = {(row.rule_id, row.host_id, row.subject) for row in listed if row.state == FIRING}
    found = []
    for key, members in sorted(groups.items()):
        rule = rules.get(members[0].rule_id)
        if rule is not None:
            due = _due(
                key, members, rule, [row for row in members if not _held(row, rule, silences, firing, now_ns)], now_ns
            )
            found += [due] if due else []
    return found


def _due(key: str, members: Sequence[Any], rule: Rule, heard: Sequence[Any], now_ns: int) -> Due | None:
    firing = [row for row in heard if row.state == FIRING]
    over = [row for row in members if row.state == RESOLVED and row.told_state == FIRING]
    unseen = [row for row in heard if row.state == RESOLVED and row.told_state == UNSEEN]
    new = [row for row in firing if row.told_state != FIRING]
    told_ns = max((row.told_ns or 0 for row in members), default=0)
    if new or over or unseen:
        fresh_ns = min(
            row.updated_ns if row.state == RESOLVED else row.firing_ns or 0 for row in [*new, *over, *unseen]
        )
        wait = rule.group_interval_seconds if told_ns else rule.group_wait_seconds
        since_ns = told_ns or fresh_ns
        # A clock that was set back must not hold a message up.
        if 0 <= now_ns - since_ns < wait * SECOND_NS:
            return None
        state = FIRING if firing or _still(members) else RESOLVED
        return Due(key, state, rule, [*firing, *over, *unseen])
    unanswered = [row for row in firing if row.acknowledged_ns is None]
    if unanswered and rule.repeat_seconds and now_ns - told_ns >= rule.repeat_seconds * SECOND_NS:
        return Due(key, FIRING, rule, list(firing), repeated=True)
    return None


def _still(members: Sequence[Any]) -> bool:
    """Whether something that people were told of still fires, though it is held back by now."""
    return any(row.state == FIRING and row.told_state == FIRING for row in members)


def _held(
    row: Any, rule: Rule, silences: Sequence[SilenceSpan], firing: set[tuple[str, int, str]], now_ns: int
) -> bool:
    if rule.is_quiet(now_ns) or any(silence.holds(row.labels, now_ns) for silence in silences):
        return True
    return any((other, row.host_id, row.subject) in firing for other in rule.unless)
