"""Alertmanager's API v2: each alert of the group as an alert there.

What names an alert there are its labels, so they hold what stays the same as long as it fires, and the rest stands in
annotations. Alertmanager forgets an alert that is not told again, at its ``endsAt``: with a rule that repeats that is
some repeats away, else a week.
"""

from __future__ import annotations

import re
from typing import Any

from gapscope_backend.alerts.channels.kind import JSON_TYPE, ChannelKind, Envelope, Outgoing, SecretUse, encode
from gapscope_backend.alerts.message import HEARTBEAT, RESOLVED, TEST, AlertLine, Message
from gapscope_backend.alerts.times import iso
from gapscope_backend.alerts.wording import Wording, cut, language_of, line_of, word

PATH = "/api/v2/alerts"
SECOND_NS = 10**9
HOUR_NS = 3600 * SECOND_NS
KEPT_NS = 7 * 24 * HOUR_NS
TEST_NS = 300 * SECOND_NS
_LABEL_LENGTH = 256
_TEXT_LENGTH = 4000
_NO_LABEL = re.compile(r"[^a-zA-Z0-9_]")
_CHANGING = frozenset({"cause", "row_class", "class", "severity", "state", "value", "incident"})
"""Labels that may change while an alert fires."""


def build(message: Message, envelope: Envelope) -> Outgoing:
    """A list of alerts; a test and a heartbeat are alerts of their own that end by themselves."""
    words = word(message)
    alerts = [_alert(line, message, words, envelope.now_ns) for line in message.alerts]
    if message.state in (TEST, HEARTBEAT):
        alerts = [_own(message, words, envelope)]
    url = envelope.settings.url.rstrip("/")
    if not url.endswith(PATH):
        url += PATH
    return Outgoing(url, encode(alerts), {**envelope.settings.headers, **JSON_TYPE})


def _alert(line: AlertLine, message: Message, words: Wording, now_ns: int) -> dict[str, Any]:
    annotations = {
        "summary": line_of(line.sentence.render(language_of(message))),
        "description": "\n".join(row for title, lines in words.sections for row in (title, *lines)),
        "cause": line_of(message.cause),
        "silence": message.silence_link,
    }
    over = line.state == RESOLVED
    return _posted(
        {
            **{_NO_LABEL.sub("_", name): text for name, text in line.labels.items() if name not in _CHANGING},
            "alertname": message.rule,
            "severity": message.severity,
            "host": line.host,
            "subject": line.subject,
        },
        annotations,
        line.began_ns,
        (line.ended_ns or message.ended_ns or now_ns) if over else now_ns + _kept_ns(message),
        message.link,
    )


def _own(message: Message, words: Wording, envelope: Envelope) -> dict[str, Any]:
    """A heartbeat is missed once three of them failed to come."""
    lasts_ns = 3 * envelope.settings.heartbeat_seconds * SECOND_NS if message.state == HEARTBEAT else TEST_NS
    name = {TEST: "GapscopeTest", HEARTBEAT: "GapscopeHeartbeat"}[message.state]
    labels = {"alertname": name, "severity": "none", "channel": envelope.channel}
    return _posted(labels, {"summary": words.sentence}, envelope.now_ns, envelope.now_ns + lasts_ns, message.link)


def _posted(
    labels: dict[str, str], annotations: dict[str, str], start_ns: int, end_ns: int, link: str
) -> dict[str, Any]:
    posted: dict[str, Any] = {
        "labels": {_name(name): cut(line_of(text), _LABEL_LENGTH) for name, text in labels.items() if line_of(text)},
        "annotations": {name: cut(text, _TEXT_LENGTH) for name, text in annotations.items() if text},
        "startsAt": iso(start_ns),
        "endsAt": iso(max(start_ns, end_ns)),
    }
    return posted | ({"generatorURL": link} if link else {})


def _name(label: str) -> str:
    return f"_{label}" if label[:1].isdigit() else label


def _kept_ns(message: Message) -> int:
    return max(HOUR_NS, round(3 * message.repeat_seconds * SECOND_NS)) if message.repeat_seconds else KEPT_NS


ALERTMANAGER = ChannelKind("alertmanager", build, SecretUse.NONE, heartbeats=True, headers=True)
