"""Any program that takes a signed webhook (Standard Webhooks): all of the message as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from gapscope_backend.alerts.channels.kind import JSON_TYPE, ChannelKind, Envelope, Outgoing, SecretUse, encode
from gapscope_backend.alerts.message import FIRING, HEARTBEAT, RESOLVED, TEST, Message
from gapscope_backend.alerts.signing import signed_headers
from gapscope_backend.alerts.times import iso
from gapscope_backend.alerts.wording import language_of
from gapscope_backend.analysis.language import spoken

TYPES = {
    FIRING: "gapscope.alert.firing",
    RESOLVED: "gapscope.alert.resolved",
    TEST: "gapscope.test",
    HEARTBEAT: "gapscope.heartbeat",
}
_TIMES = {"started_ns": "started", "ended_ns": "ended", "began_ns": "began"}


def build(message: Message, envelope: Envelope) -> Outgoing:
    """``{"type", "timestamp", "data"}``, signed under each secret."""
    data = _readable(msgspec.to_builtins(message, enc_hook=spoken(language_of(message))))
    body = encode({"type": TYPES[message.state], "timestamp": iso(envelope.made_ns), "data": data})
    signed = signed_headers(envelope.secrets, envelope.id, envelope.now_ns // 10**9, body)
    return Outgoing(envelope.settings.url, body, {**envelope.settings.headers, **JSON_TYPE, **signed})


def _readable(data: Any) -> Any:
    """Times as ISO 8601: a nanosecond count does not fit into the numbers of every reader of JSON."""
    if isinstance(data, dict):
        return {
            _TIMES.get(key, key): iso(value) if key in _TIMES and isinstance(value, int) else _readable(value)
            for key, value in data.items()
        }
    return [_readable(one) for one in data] if isinstance(data, list) else data


WEBHOOK = ChannelKind("webhook", build, SecretUse.MADE, heartbeats=True, headers=True)
