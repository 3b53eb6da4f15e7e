"""The state machine of an alert, pure: observations in, transitions out. There is no clock inside.

A condition goes from nothing to ``pending``, after ``for`` to ``firing``, and back once it has been clear for
``clear_for``. Both count *measured* time: between two observations that lie further apart than ``gap_ns`` nobody
looked, and only what the later one covers counts. So a pause, a gap in the data or a clock that was set neither
fires nor resolves anything, and what was observed twice, or comes late, changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

PENDING = "pending"
FIRING = "firing"
RESOLVED = "resolved"


class Truth(Enum):
    """What one look at a condition says. ``BETWEEN``: below the threshold, but not below the one that clears."""

    HOLDS = "holds"
    BETWEEN = "between"
    CLEARS = "clears"
    UNKNOWN = "unknown"


class Change(Enum):
    """A transition. ``ENDED`` is a pending one that never fired; ``LOST`` and ``FOUND`` are about its data."""

    BEGAN = "began"
    FIRED = "fired"
    RENEWED = "renewed"
    RESOLVED = "resolved"
    ENDED = "ended"
    LOST = "lost"
    FOUND = "found"


@dataclass(frozen=True)
class Timing:
    """Nanoseconds: how long a condition must hold, how long it must be clear, and what a single look covers."""

    for_ns: int
    clear_for_ns: int
    gap_ns: int
    covers_ns: int


@dataclass(frozen=True)
class Observation:
    """One look at time ``at_ns``. ``since_ns`` and ``held_ns``: since when it holds and for how much measured time,
    ``clear_ns``: for how much it has been clear, where the source knows better than a sum over looks. ``in_order``
    False: its times may go back."""

    at_ns: int
    truth: Truth
    since_ns: int | None = None
    held_ns: int | None = None
    in_order: bool = True
    clear_ns: int | None = None


@dataclass(frozen=True)
class Track:
    """What is remembered of a condition that is not absent. ``clear_ns`` is None unless the last look was clear."""

    state: str
    began_ns: int
    last_ns: int
    held_ns: int
    clear_ns: int | None = None
    no_data: bool = False

    def to_plain(self) -> list[Any]:
        """As plain data."""
        return [self.state, self.began_ns, self.last_ns, self.held_ns, self.clear_ns, self.no_data]

    @staticmethod
    def from_plain(data: list[Any]) -> Track:
        """From plain data."""
        return Track(*data)


def advance(track: Track | None, seen: Observation, timing: Timing) -> tuple[Track | None, list[Change]]:
    """Take one observation in: the track after it, None once the condition is absent, and what changed on the way."""
    if track is None:
        return _begin(seen, timing) if seen.truth is Truth.HOLDS else (None, [])
    if seen.in_order and seen.at_ns <= track.last_ns:
        return track, []
    if seen.truth is Truth.UNKNOWN:
        return lose(track)
    passed_ns = max(0, seen.at_ns - track.last_ns)
    measured_ns = passed_ns if passed_ns <= timing.gap_ns else timing.covers_ns
    changes = [Change.FOUND] if track.no_data else []
    track = replace(track, last_ns=max(seen.at_ns, track.last_ns) if seen.in_order else seen.at_ns, no_data=False)
    if seen.truth is Truth.HOLDS:
        held_ns = track.held_ns + measured_ns if seen.held_ns is None else max(track.held_ns, seen.held_ns)
        after, more = _fire(replace(track, held_ns=held_ns, clear_ns=None), timing)
        return after, [*changes, *(more or [Change.RENEWED])]
    if seen.truth is Truth.BETWEEN:
        return replace(track, clear_ns=None), [*changes, Change.RENEWED]
    clear_ns = 0 if track.clear_ns is None else track.clear_ns + measured_ns
    return _clear(track, max(clear_ns, seen.clear_ns or 0), timing, changes)


def lose(track: Track) -> tuple[Track, list[Change]]:
    """Nobody knows whether the condition still holds: its state stays."""
    return (track, []) if track.no_data else (replace(track, no_data=True), [Change.LOST])


def _begin(seen: Observation, timing: Timing) -> tuple[Track, list[Change]]:
    began_ns = seen.at_ns if seen.since_ns is None else seen.since_ns
    held_ns = 0 if seen.held_ns is None else seen.held_ns
    track, changes = _fire(Track(PENDING, began_ns, seen.at_ns, held_ns), timing)
    return track, [Change.BEGAN, *changes]


def _fire(track: Track, timing: Timing) -> tuple[Track, list[Change]]:
    if track.state == PENDING and track.held_ns >= timing.for_ns:
        return replace(track, state=FIRING), [Change.FIRED]
    return track, []


def _clear(track: Track, clear_ns: int, timing: Timing, changes: list[Change]) -> tuple[Track | None, list[Change]]:
    if track.state == PENDING:
        return None, [*changes, Change.ENDED]
    if clear_ns >= timing.clear_for_ns:
        return None, [*changes, Change.RESOLVED]
    return replace(track, clear_ns=clear_ns), [*changes, Change.RENEWED]
