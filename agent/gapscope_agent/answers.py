"""What an answer of the server means for the batch that was sent: one decision, apart from the sending."""

from __future__ import annotations

import email.utils
from dataclasses import dataclass
from enum import Enum

import msgspec

from gapscope_agent.wire import Acknowledgement

MAX_RETRY_AFTER_SECONDS = 3600.0
SET_ASIDE = {400: "refused_malformed", 413: "refused_too_large", 415: "refused_media_type", 422: "refused_invalid"}
HOLD = frozenset({401, 403, 404, 405, 426})
"""A person has to act (token, host pattern, address, version): the batch itself may be good, so it is kept."""


class Fate(Enum):
    """What becomes of the batch."""

    DELIVERED = "delivered"
    RETRY = "retry"
    HOLD = "hold"
    SET_ASIDE = "set_aside"


@dataclass(frozen=True)
class Answer:
    """Fate, the reason in words (for set-aside batches also the name under which they are counted), and a wait."""

    fate: Fate
    reason: str
    wait_seconds: float | None = None


def judge(status: int, body: bytes, retry_after: str | None, now: float) -> Answer:
    """Fate of a batch by the server's answer; ``now`` (s since the epoch) is for a Retry-After that is a date."""
    if 200 <= status < 300:
        return _acknowledged(body)
    if status in SET_ASIDE:
        return Answer(Fate.SET_ASIDE, SET_ASIDE[status])
    if status in HOLD or 300 <= status < 400:
        return Answer(Fate.HOLD, f"the server answered {status}: {_text(body)}")
    return Answer(Fate.RETRY, f"the server answered {status}: {_text(body)}", _retry_after(retry_after, now))


def _acknowledged(body: bytes) -> Answer:
    """Only the server's own acknowledgement counts: a proxy's friendly page is no delivery."""
    try:
        answer = msgspec.json.decode(body, type=Acknowledgement)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Answer(Fate.RETRY, "the answer is no acknowledgement; is this address a Gapscope server?")
    if answer.stored or answer.duplicate:
        return Answer(Fate.DELIVERED, "delivered")
    return Answer(Fate.RETRY, "the server did not store the batch")


def _retry_after(value: str | None, now: float) -> float | None:
    """Seconds of a Retry-After header, number or date (RFC 9110, 10.2.3); None when absent or unreadable."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - now
        except ValueError:
            return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_SECONDS) if seconds == seconds else None


def _text(body: bytes) -> str:
    return body[:200].decode("utf-8", "replace").strip()
