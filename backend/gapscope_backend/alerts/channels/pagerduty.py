"""PagerDuty's Events API v2: one incident there for each group of alerts here, by its ``dedup_key``.

Limits of PagerDuty: 255 characters of a key, 1,024 of a summary, 512 kB in all. It interprets nothing in texts.
"""

from __future__ import annotations

import hashlib
from typing import Any

from gapscope_backend.alerts.channels.kind import ChannelKind, Envelope, Outgoing, SecretUse, encode
from gapscope_backend.alerts.message import RESOLVED, Message
from gapscope_backend.alerts.times import iso
from gapscope_backend.alerts.wording import cut, line_of, word

URL = "https://events.pagerduty.com/v2/enqueue"
KEY_LENGTH = 255
SUMMARY_LENGTH = 1024
_TEXT_LENGTH = 1000
_SEVERITIES = {"critical": "critical", "error": "error", "warning": "warning", "info": "info"}


def build(message: Message, envelope: Envelope) -> Outgoing:
    """``trigger`` as long as anything of the group fires, ``resolve`` after it."""
    body: dict[str, Any] = {
        "routing_key": envelope.secrets[0] if envelope.secrets else "",
        "event_action": "resolve" if message.state == RESOLVED else "trigger",
        "dedup_key": dedup_key(message.group_key),
    }
    if message.state != RESOLVED:
        words = word(message)
        body |= {
            "client": "Gapscope",
            "payload": _payload(message),
            "links": [{"href": link.url, "text": link.label} for link in words.links],
        }
        if message.link:
            body["client_url"] = message.link
    return Outgoing(envelope.settings.url or URL, encode(body))


def dedup_key(group_key: str) -> str:
    """The key of a group; a long one by its hash."""
    if 0 < len(group_key) <= KEY_LENGTH:
        return group_key
    return hashlib.sha256(group_key.encode(errors="replace")).hexdigest()


def _payload(message: Message) -> dict[str, Any]:
    words = word(message)
    details = {name: cut(value, _TEXT_LENGTH) for name, value in words.facts}
    details |= {title: [cut(line, _TEXT_LENGTH) for line in lines] for title, lines in words.sections}  # type: ignore[misc]
    return {
        "summary": cut(words.in_short, SUMMARY_LENGTH),
        "source": cut(line_of(message.host), KEY_LENGTH) or "gapscope",
        "severity": _SEVERITIES.get(message.severity, "error"),
        "timestamp": iso(message.started_ns),
        "component": cut(line_of(", ".join(message.subjects)), KEY_LENGTH) or "gpu",
        "group": cut(line_of(message.rule), KEY_LENGTH) or "gapscope",
        "class": line_of(message.cause) or message.state,
        "custom_details": details,
    }


PAGERDUTY = ChannelKind("pagerduty", build, SecretUse.GIVEN, own_url=URL)
