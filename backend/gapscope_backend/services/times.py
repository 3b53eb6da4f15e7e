"""Times at the edges: what a request may say for a moment, and how answers write one."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from gapscope_backend.errors import MalformedError

ACCEPTED = "ISO 8601 (2026-01-31T12:00:00Z), milliseconds since the epoch (1790000000000), now, or now-5m (ms s m h d)"
MAX_NS = 1 << 62

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_RELATIVE = re.compile(r"now(?:-(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h|d))?", re.ASCII)
_NUMBER = re.compile(r"\d{1,16}(?:\.\d{1,6})?", re.ASCII)
_UNIT_NS = {"ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}


def parse_time(text: str, now_ns: int, where: str) -> int:
    """Nanoseconds since the epoch of a moment in one of the accepted forms; a time without an offset is UTC."""
    relative = _RELATIVE.fullmatch(text)
    if relative:
        amount, unit = relative.groups()
        value = now_ns - (round(float(amount) * _UNIT_NS[unit]) if amount else 0)
    elif _NUMBER.fullmatch(text):
        value = round(float(text) * 1e6)
    else:
        value = _parse_iso(text, where)
    if not 0 <= value <= MAX_NS:
        raise MalformedError(f"{text!r} is before 1970 or too far in the future", where)
    return value


def parse_span(start: str, end: str, now_ns: int) -> tuple[int, int]:
    """Half-open span of the parameters ``from`` and ``to``."""
    start_ns, end_ns = parse_time(start, now_ns, "from"), parse_time(end, now_ns, "to")
    if start_ns >= end_ns:
        raise MalformedError(f"from ({start}) must be before to ({end})", "from")
    return start_ns, end_ns


def iso(ns: int) -> str:
    """ISO 8601 in UTC to the microsecond, with a Z."""
    return (_EPOCH + timedelta(microseconds=ns // 1000)).isoformat(timespec="microseconds").replace("+00:00", "Z")


def milliseconds(ns: int) -> float:
    """Milliseconds since the epoch."""
    return ns / 1e6


def _parse_iso(text: str, where: str) -> int:
    try:
        moment = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=timezone.utc)
        return (moment - _EPOCH) // timedelta(microseconds=1) * 1000
    except (ValueError, OverflowError) as error:
        raise MalformedError(f"{text[:80]!r} is not a time; accepted are {ACCEPTED}", where) from error
