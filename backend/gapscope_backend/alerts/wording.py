"""A message in words, for channels that people read: what each of them shows, before its own form is put on.

What came from hosts (names, functions, paths) is cleaned here of what no line of text holds; what a target itself
interprets is escaped by its channel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone

from gapscope_backend.alerts.message import FIRING, HEARTBEAT, RESOLVED, TEST, Message
from gapscope_backend.analysis.language import DEFAULT_LANGUAGE, Language, Text, read_language

LEDGER_ROWS = 3
STACK_FRAMES = 5
ALERTS_SHOWN = 10

_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Control characters, those that turn or hide text, and halves of characters."""

_TITLES = {
    FIRING: Text("Firing: {rule}"),
    RESOLVED: Text("Resolved: {rule}"),
    TEST: Text("Test by Gapscope"),
    HEARTBEAT: Text("Gapscope is alive"),
}
_TITLES_ON_HOST = {
    FIRING: Text("Firing: {rule} on {host}"),
    RESOLVED: Text("Resolved: {rule} on {host}"),
}
_SEVERITIES = {
    "critical": Text("critical"),
    "warning": Text("warning"),
    "info": Text("info"),
}
_SEVERITY = Text("Severity")
_BEGAN = Text("Began")
_OVER = Text("Over")
_CAUSE = Text("Cause")
_CAUSE_SURE = Text("{cause} (confidence {confidence:.0%})")
_SHARE = Text("{share:.0%} of the GPU time, {seconds:.1f} GPU-seconds: {cause}")
_MORE = Text("and {count} more")
_OPEN = Text("Open in Gapscope")
_SILENCE = Text("Silence")
_ALERTS = Text("Alerts")
_LEDGER = Text("Where the GPU time went")
_STACK = Text("On the stack meanwhile")


@dataclass(frozen=True)
class Link:
    """A link and what stands on it."""

    label: str
    url: str


@dataclass(frozen=True)
class Wording:
    """A message in one language. Every string is one line; a section without lines is left out.

    ``facts`` are names with values. ``sections`` are titles with lines, in the order of what they tell.
    """

    title: str
    sentence: str
    facts: tuple[tuple[str, str], ...]
    sections: tuple[tuple[str, tuple[str, ...]], ...]
    links: tuple[Link, ...]
    colon: str = ": "

    @property
    def fact_lines(self) -> tuple[str, ...]:
        """Each fact as a line."""
        return tuple(f"{name}{self.colon}{value}" for name, value in self.facts)

    @property
    def in_short(self) -> str:
        """Title and sentence in a line."""
        return f"{self.title}{self.colon}{self.sentence}"


def language_of(message: Message) -> Language:
    """The language of a message's channel; English where it is not spoken here."""
    return read_language(message.language) or DEFAULT_LANGUAGE


def word(message: Message) -> Wording:
    """A message in the language of its channel."""
    language = language_of(message)
    graph = message.sparkline
    sections = (
        (_said(_ALERTS, language), _alerts(message, language)),
        (_said(_LEDGER, language), _ledger(message, language)),
        ("" if graph is None else _said(graph.scale, language), () if graph is None else (line_of(graph.text),)),
        (_said(_STACK, language), tuple(line_of(frame) for frame in message.top_stack[:STACK_FRAMES])),
    )
    links = ((_OPEN, message.link), (_SILENCE, message.silence_link))
    return Wording(
        title=title_of(message, language),
        sentence=_said(message.sentence, language),
        facts=_facts(message, language),
        sections=tuple((title, lines) for title, lines in sections if lines),
        links=tuple(Link(_said(label, language), url) for label, url in links if url),
        colon="：" if language == "zh-Hans" else ": ",
    )


def title_of(message: Message, language: Language) -> str:
    """What a message is about, in a line."""
    if message.host and message.state in _TITLES_ON_HOST:
        text = _TITLES_ON_HOST[message.state].of(rule=message.rule_name or message.rule, host=message.host)
    else:
        text = _TITLES[message.state].of(rule=message.rule_name or message.rule)
    return _said(text, language)


def time_of(ns: int) -> str:
    """A time for people, in UTC to the second."""
    return f"{datetime.fromtimestamp(ns // 10**9, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def line_of(text: str) -> str:
    """A text as one line, without characters that are none or that change how the rest is read."""
    return _CONTROL.sub(" ", text).strip()


def cut(text: str, length: int) -> str:
    """At most ``length`` characters, the last one an ellipsis where something is left out."""
    return text if len(text) <= length else text[: length - 1] + "…"


def _said(text: Text, language: Language) -> str:
    return line_of(text.render(language))


def _facts(message: Message, language: Language) -> tuple[tuple[str, str], ...]:
    if message.state in (TEST, HEARTBEAT):
        return ()
    severity = _SEVERITIES.get(message.severity)
    found = [
        (_SEVERITY, line_of(message.severity) if severity is None else _said(severity, language)),
        (_BEGAN, time_of(message.started_ns)),
    ]
    if message.ended_ns is not None:
        found.append((_OVER, time_of(message.ended_ns)))
    if message.cause and message.confidence is None:
        found.append((_CAUSE, _said(message.cause_title, language)))
    elif message.cause:
        sure = _CAUSE_SURE.of(cause=message.cause_title, confidence=message.confidence or 0.0)
        found.append((_CAUSE, _said(sure, language)))
    return tuple((_said(name, language), value) for name, value in found)


def _ledger(message: Message, language: Language) -> tuple[str, ...]:
    rows = message.ledger[:LEDGER_ROWS]
    texts = (_SHARE.of(share=row.share, seconds=row.gpu_seconds, cause=row.title) for row in rows)
    return tuple(_said(text, language) for text in texts)


def _alerts(message: Message, language: Language) -> tuple[str, ...]:
    """Each alert where there are several; the only one's sentence is the message's."""
    if message.count <= 1:
        return ()
    shown = message.alerts[:ALERTS_SHOWN]
    lines = [_said(alert.sentence, language) for alert in shown]
    if message.count > len(shown):
        lines.append(_said(_MORE.of(count=message.count - len(shown)), language))
    return tuple(lines)
