"""Times on the command line: ISO 8601, seconds from a recording's start (``+5s``), time before now (``now-15m``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timezone

from gapscope_backend.cli.errors import UsageError

_RELATIVE = re.compile(r"\+(\d+(?:\.\d+)?)s?")
_BEFORE_NOW = re.compile(r"now(?:-\d{1,9}(?:\.\d{1,9})?(?:ms|s|m|h|d))?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Moment:
    """``ns`` since the epoch or, where ``relative``, since the start of the recording.

    Where ``now`` is set it is such a moment as ``now-15m`` instead, which the server's clock gives its meaning.
    """

    ns: int
    relative: bool
    now: str = ""

    def after(self, start_ns: int) -> int:
        """The time in ns since the epoch, for a recording that starts at ``start_ns``."""
        if self.now:
            raise UsageError(f"{self.now} is a time for hosts; for a recording give +SECONDS or ISO 8601 times")
        return start_ns + self.ns if self.relative else self.ns

    def asked(self) -> str:
        """The time as the API takes it, for a host."""
        if self.relative:
            raise UsageError("+SECONDS counts from a recording's start; for a host give ISO 8601 times or now-15m")
        return self.now or iso(self.ns)

    def __str__(self) -> str:
        return f"+{self.ns / 1e9:g}s" if self.relative else self.now or iso(self.ns)


def parse_moment(text: str) -> Moment:
    """Moment from text; without an offset ISO 8601 is read as UTC. ``ValueError`` says what is accepted."""
    relative = _RELATIVE.fullmatch(text)
    if relative:
        return Moment(round(float(relative[1]) * 1e9), relative=True)
    if _BEFORE_NOW.fullmatch(text):
        return Moment(0, relative=False, now=text)
    try:
        # Python 3.10 does not read the Z of ISO 8601.
        time = datetime.fromisoformat(re.sub(r"[Zz]$", "+00:00", text))
    except ValueError:
        raise ValueError(
            f"{text} is not a time: give ISO 8601 (2026-01-31T12:00:00Z), for a recording seconds from its start "
            "(+5s), for a host also now or now-15m (ms s m h d)"
        ) from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=timezone.utc)
    passed = time - _EPOCH
    return Moment(((passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds) * 1_000, relative=False)


def iso(ns: int) -> str:
    """ISO 8601 in UTC with microseconds."""
    seconds, rest = divmod(ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S}.{rest // 1000:06d}Z"
