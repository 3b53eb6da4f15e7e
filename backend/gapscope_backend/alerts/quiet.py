"""Quiet hours: times of the day, on some weekdays, in which a rule tells nobody."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
FORM = 'write it as "22:00-07:00", "sat-sun" or "mon-fri 22:00-07:00"'
_HOURS = re.compile(r"(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
DAY_MINUTES = 24 * 60


@dataclass(frozen=True)
class Quiet:
    """``days`` are those on which it begins, Monday 0; minutes of the day, over midnight where the end comes first."""

    days: frozenset[int]
    begin: int
    end: int

    def covers(self, day: int, minute: int) -> bool:
        """Whether a minute of a weekday lies in it."""
        if self.begin < self.end:
            return day in self.days and self.begin <= minute < self.end
        return (day in self.days and minute >= self.begin) or ((day - 1) % 7 in self.days and minute < self.end)


def read_quiet(told: object) -> Quiet:
    """Raises ValueError that says what is wrong and what to write."""
    if not isinstance(told, str):
        raise ValueError(f"{told!r} is no time of the day; {FORM}")
    days, begin, end = frozenset(range(7)), 0, DAY_MINUTES
    words = told.strip().lower().split()
    if not 1 <= len(words) <= 2:
        raise ValueError(f"{told[:40]!r} is no time of the day; {FORM}")
    hours = _HOURS.fullmatch(words[-1])
    if hours:
        numbers = [int(part) for part in hours.groups()]
        begin, end = numbers[0] * 60 + numbers[1], numbers[2] * 60 + numbers[3]
        if max(begin, end) > DAY_MINUTES or max(numbers[1], numbers[3]) > 59 or begin == end:
            raise ValueError(f"{told[:40]!r} is no time of the day; {FORM}")
        words = words[:-1]
    if words:
        days = _days(words[0], told)
    return Quiet(days, begin, end)


def read_zone(told: object) -> tzinfo:
    """A time zone by its name. Raises ValueError."""
    if told in ("UTC", "utc"):
        return timezone.utc
    try:
        return ZoneInfo(str(told))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"{told!r} is no time zone known here; write a name such as Europe/Berlin, or UTC") from error


def is_quiet(quiet: tuple[Quiet, ...], zone: tzinfo, now_ns: int) -> bool:
    """Whether a moment lies in any of them."""
    if not quiet:
        return False
    local = (_EPOCH + timedelta(microseconds=now_ns // 1000)).astimezone(zone)
    return any(one.covers(local.weekday(), local.hour * 60 + local.minute) for one in quiet)


def _days(word: str, told: str) -> frozenset[int]:
    first, dash, last = word.partition("-")
    if first not in DAYS or (dash and last not in DAYS):
        raise ValueError(f"{told[:40]!r}: days are {', '.join(DAYS)}; {FORM}")
    begin, end = DAYS.index(first), DAYS.index(last or first)
    return frozenset((begin + step) % 7 for step in range((end - begin) % 7 + 1))
