"""Times on the command line: ISO 8601, or seconds from the start of what is looked at (``+5s``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone

_RELATIVE = re.compile(r"\+(\d+(?:\.\d+)?)s?")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Moment:
    """``ns`` since the epoch or, where ``relative``, since the start of the recording."""

    ns: int
    relative: bool

    def after(self, start_ns: int) -> int:
        """The time in ns since the epoch, for something that starts at ``start_ns``."""
        return start_ns + self.ns if self.relative else self.ns


def parse_moment(text: str) -> Moment:
    """Moment from text; without an offset ISO 8601 is read as UTC. ``ValueError`` says what is accepted."""
    relative = _RELATIVE.fullmatch(text)
    if relative:
        return Moment(round(float(relative[1]) * 1e9), relative=True)
    try:
        # Python 3.10 does not read the Z of ISO 8601.
        time = datetime.fromisoformat(re.sub(r"[Zz]$", "+00:00", text))
    except ValueError:
        raise ValueError(f"{text} is not a time: give ISO 8601 (2026-01-31T12:00:00Z) or seconds (+5s)") from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=timezone.utc)
    passed = time - _EPOCH
    return Moment(((passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds) * 1_000, relative=False)


def iso(ns: int) -> str:
    """ISO 8601 in UTC with microseconds."""
    seconds, rest = divmod(ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"
