"""A message out of the alerts that it tells of and what is known around them; pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from gapscope_backend.alerts.grouping import Due
from gapscope_backend.alerts.look import HostFacts
from gapscope_backend.alerts.message import (
    FIRING,
    SPARKLINE_LENGTH,
    AlertLine,
    LedgerLine,
    Message,
    Sparkline,
    blocks,
)
from gapscope_backend.alerts.rules.kind import gpu_name, title_of
from gapscope_backend.analysis.language import Text, read_message
from gapscope_backend.analysis.verdict import NONE

SECOND_NS = 1_000_000_000
SPARK_STEP_NS = 10 * SECOND_NS
AROUND_NS = 60 * SECOND_NS
"""A link shows so much before and after the time that it is about."""
MAX_LINES = 20
TOP_ROWS = 3


@dataclass(frozen=True)
class Around:
    """What is known around the alert that leads a message. ``active``: ratios of its GPU, the newest last."""

    host: HostFacts
    ledger: Sequence[LedgerLine] = ()
    confidence: float | None = None
    top_stack: Sequence[str] = ()
    active: Sequence[float | None] = field(default_factory=list)
    sentence: Text = NONE


def leading(due: Due) -> Any:
    """The alert that a message speaks of first: of those that fire, the oldest."""
    firing = [row for row in due.rows if row.state == FIRING]
    return min(firing or due.rows, key=lambda row: (row.began_ns, row.id))


def compose(due: Due, names: dict[int, str], around: Around, base_url: str, language: str) -> Message:
    """The message. ``names`` are those of hosts by id."""
    lead, rule = leading(due), due.rule
    hosts = sorted({names[row.host_id] for row in due.rows})
    return Message(
        state=due.state,
        rule=rule.id,
        rule_name=rule.name or rule.id,
        severity=lead.severity,
        group_key=due.group_key,
        sequence=due.sequence,
        sentence=_sentence(due, lead, around),
        started_ns=min(row.began_ns for row in due.rows),
        ended_ns=None if due.state == FIRING else max(row.end_ns for row in due.rows),
        host=hosts[0] if len(hosts) == 1 else "",
        subjects=sorted({row.subject for row in due.rows if row.subject}),
        cause=lead.cause,
        cause_title=title_of(lead.cause),
        row_class=lead.row_class,
        confidence=around.confidence,
        ledger=list(around.ledger)[:TOP_ROWS],
        top_stack=list(around.top_stack)[:5],
        sparkline=_sparkline(around),
        link=link_to(lead, names[lead.host_id], base_url),
        silence_link=f"{base_url}/alerts?silence={quote(_matchers(due, hosts))}",
        alerts=[_line(due, row, names[row.host_id], around) for row in due.rows[:MAX_LINES]],
        count=len(due.rows),
        labels=_shared_labels(due.rows),
        repeat_seconds=rule.repeat_seconds,
        language=language,
    )


def message_id(channel_id: str, due: Due) -> str:
    """The same message has the same id, whoever makes it."""
    states = sorted(f"{row.host_id}/{row.id}/{row.state}" for row in due.rows)
    told = "\0".join((channel_id, due.group_key, str(due.sequence), *states))
    return "msg_" + hashlib.sha256(told.encode()).hexdigest()[:32]


def link_to(row: Any, host: str, base_url: str) -> str:
    """The page of its incident, or its host over the very time."""
    if row.incident:
        return f"{base_url}/incident/{quote(row.incident)}"
    first_ms, last_ms = (row.start_ns - AROUND_NS) // 1_000_000, (row.end_ns + AROUND_NS) // 1_000_000
    return f"{base_url}/host/{quote(host, safe='')}?t={first_ms}-{last_ms}"


def _sentence(due: Due, lead: Any, around: Around) -> Text:
    said = around.sentence or read_message(lead.summary)
    if due.state != FIRING:
        seconds = (max(row.end_ns for row in due.rows) - min(row.began_ns for row in due.rows)) / SECOND_NS
        said = Text("Over after {amount:.0f} s: {said}", amount=seconds, said=said)
    others = len(due.rows) - 1
    return Text("{said} And {count} more.", said=said, count=others) if others else said


def _sparkline(around: Around) -> Sparkline | None:
    values = list(around.active)[-SPARKLINE_LENGTH:]
    if not any(value is not None for value in values):
        return None
    before: list[float | None] = [None] * (SPARKLINE_LENGTH - len(values))
    minutes = SPARKLINE_LENGTH * SPARK_STEP_NS / SECOND_NS / 60
    scale = Text("GPU active, last {minutes:.0f} min, 0-100 %", minutes=minutes)
    return Sparkline(text=blocks(before + values), scale=scale)


def _line(due: Due, row: Any, host: str, around: Around) -> AlertLine:
    name = NONE
    if row.subject.startswith("gpu:"):
        index = row.labels.get("gpu", "")
        name = Text("GPU {index}", index=index) if index.isdecimal() else gpu_name(around.host, row.subject)
    elif row.subject:
        name = Text("{name}", name=row.labels.get("job") or row.subject)
    return AlertLine(
        id=row.id,
        host=host,
        subject=row.subject,
        subject_name=name,
        state=row.state,
        sentence=read_message(row.summary),
        value=row.value,
        threshold=row.threshold,
        unit=due.rule.kind.unit,
        began_ns=row.began_ns,
        ended_ns=None if row.state == FIRING else row.end_ns,
        labels=dict(row.labels),
    )


def _matchers(due: Due, hosts: Sequence[str]) -> str:
    return f"rule={due.rule.id}" + (f",host={hosts[0]}" if len(hosts) == 1 else "")


def _shared_labels(rows: Sequence[Any]) -> dict[str, str]:
    first = rows[0].labels
    return {name: value for name, value in first.items() if all(row.labels.get(name) == value for row in rows)}
