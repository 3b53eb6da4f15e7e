"""One attempt to send a message to its channel: written, sent through the one way out, and its answer read."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timezone
from email.utils import parsedate_to_datetime

import msgspec

from gapscope_backend.alerts.channels import KINDS, Envelope, Settings
from gapscope_backend.alerts.egress import Egress, EgressError, Reply
from gapscope_backend.alerts.message import from_plain
from gapscope_backend.alerts.wording import cut, line_of
from gapscope_backend.store.alert_models import Channel, Delivery

log = logging.getLogger(__name__)

SHOWN_ANSWER = 160
_SHORTEST_SECRET = 8


@dataclass(frozen=True)
class Answer:
    """What came of an attempt: the status where there was one, and what went wrong (empty: delivered).

    ``retry_after_ns`` is how long the target wants to be left alone. ``hopeless``: another attempt would be no better.
    """

    status: int | None = None
    error: str = ""
    retry_after_ns: int = 0
    hopeless: bool = False


async def send(egress: Egress, channel: Channel | None, delivery: Delivery, now_ns: int) -> Answer:
    """Send a message to its channel once; every way to fail is an answer too."""
    if channel is None:
        return Answer(error="the channel was deleted", hopeless=True)
    if not channel.enabled and delivery.kind != "test":
        return Answer(error="the channel is switched off", hopeless=True)
    try:
        settings = msgspec.convert(channel.settings, Settings)
        kind = KINDS[channel.kind]
        envelope = Envelope(
            delivery.resend_of or delivery.id,
            channel.id,
            settings,
            tuple(channel.secrets),
            delivery.created_ns,
            now_ns,
        )
        request = kind.build(from_plain(delivery.message), envelope)
    except (msgspec.ValidationError, KeyError, ValueError, TypeError):
        log.exception("message %s for the channel %s cannot be written", delivery.id, channel.id)
        return Answer(error="this message cannot be written for the channel; the log says why", hopeless=True)
    try:
        reply = await egress.post(request.url, request.body, request.headers)
    except EgressError as error:
        return Answer(error=str(error))
    if not 200 <= reply.status < 300:
        return Answer(reply.status, _refused(reply, channel, settings), _retry_after_ns(reply, now_ns))
    refusal = kind.refusal(reply.body)
    return Answer(reply.status, refusal and f"answered {reply.status}, but {refusal}")


def _refused(reply: Reply, channel: Channel, settings: Settings) -> str:
    said = _hushed(line_of(reply.body.decode(errors="replace")), channel, settings)
    if 300 <= reply.status < 400:
        return f"answered {reply.status}; redirects are not followed, give the address that it leads to"
    return f"answered {reply.status}: {cut(said, SHOWN_ANSWER)}" if said else f"answered {reply.status}"


def _hushed(text: str, channel: Channel, settings: Settings) -> str:
    """What a target says, without what it may repeat of the secrets that it was sent."""
    for secret in sorted(_secret_parts(channel, settings), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _secret_parts(channel: Channel, settings: Settings) -> Iterable[str]:
    words = re.split(r"[/?&=#]", settings.url.partition("//")[2].partition("/")[2])
    values = [part for value in settings.headers.values() for part in (value, *value.split())]
    return {part for part in (*channel.secrets, settings.url, *words, *values) if len(part) >= _SHORTEST_SECRET}


def _retry_after_ns(reply: Reply, now_ns: int) -> int:
    """How long a Retry-After (seconds, or a date) asks to wait; 0 for none, and for one that cannot be read."""
    text = (reply.retry_after or "").strip()
    if text.isascii() and text.isdigit():
        return int(text[:9]) * 10**9
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return 0
    moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return max(0, round(moment.timestamp()) * 10**9 - now_ns)
