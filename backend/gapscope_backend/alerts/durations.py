"""Lengths of time as people write them: ``30s``, ``5m``, ``2h``, ``1d``, ``1h30m``, or a number of seconds."""

from __future__ import annotations

import re

FORM = "write it as 30s, 5m, 2h, 1d or 1h30m"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
LONGEST_SECONDS = 366 * 86400.0


def read_duration(told: object) -> float:
    """Seconds. Raises ValueError that says what is wrong and what to write."""
    if isinstance(told, bool) or not isinstance(told, int | float | str):
        raise ValueError(f"{told!r} is no length of time; {FORM}")
    if isinstance(told, str):
        text = told.strip().lower()
        parts = _PART.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            raise ValueError(f"{told[:40]!r} is no length of time; {FORM}")
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    else:
        seconds = float(told)
    if not 0 <= seconds <= LONGEST_SECONDS:
        raise ValueError(f"{told!r} is out of range: 0 s to a year")
    return seconds


def write_duration(seconds: float) -> str:
    """As people write it."""
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length and seconds % length == 0:
            return f"{seconds / length:.0f}{unit}"
    return f"{seconds:g}s"
