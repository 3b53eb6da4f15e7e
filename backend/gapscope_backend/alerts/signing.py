"""Signatures of webhooks as Standard Webhooks has them: HMAC-SHA256 over id, time and body, under a shared secret.

While a secret is being changed a message carries two signatures, one of each secret; a receiver takes either.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence

from gapscope_backend.errors import MalformedError

PREFIX = "whsec_"
SECRET_BYTES = 32
TOLERANCE_SECONDS = 300
_VERSION = "v1"
_BOUNDS = (24, 64)


def new_secret() -> str:
    """A new secret of 256 random bits."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def key_of(secret: str) -> bytes:
    """The key in a secret. Raises MalformedError for a text that is no secret."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or not _BOUNDS[0] <= len(key) <= _BOUNDS[1]:
        raise MalformedError(f"a secret is {PREFIX} and base64 of {_BOUNDS[0]} to {_BOUNDS[1]} bytes", "secret")
    return key


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """The signature of a body that is sent under an id at a time (seconds since the epoch)."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return f"{_VERSION},{base64.b64encode(hmac.digest(key_of(secret), signed, hashlib.sha256)).decode()}"


def signed_headers(known: Sequence[str], message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Headers of a message, with a signature under each of the secrets."""
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signature(secret, message_id, timestamp, body) for secret in known),
    }


def verify(known: Sequence[str], headers: Mapping[str, str], body: bytes, now: float) -> bool:
    """Tell whether a message was signed under one of the secrets within five minutes of ``now`` (seconds)."""
    lower = {name.lower(): value for name, value in headers.items()}
    stamp, told = lower.get("webhook-timestamp", ""), lower.get("webhook-signature", "").split(" ")
    if not (stamp.isascii() and stamp.isdigit()) or len(stamp) > 12 or abs(now - int(stamp)) > TOLERANCE_SECONDS:
        return False
    wanted = [signature(secret, lower.get("webhook-id", ""), int(stamp), body).encode() for secret in known]
    return any(hmac.compare_digest(one.encode(), other) for one in told for other in wanted)
