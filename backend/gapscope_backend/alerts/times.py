"""Times in messages."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def iso(ns: int) -> str:
    """ISO 8601 in UTC to the millisecond, with a Z."""
    return (_EPOCH + timedelta(milliseconds=ns // 10**6)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
