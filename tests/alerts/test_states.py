"""The state machine, by itself: measured time, hysteresis, no data, late and doubled looks, any cut into calls."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapscope_backend.alerts.states import FIRING, PENDING, Change, Observation, Timing, Track, Truth, advance, lose

SECOND = 1_000_000_000
TIMING = Timing(30 * SECOND, 20 * SECOND, 15 * SECOND, 5 * SECOND)
LETTERS = {"+": Truth.HOLDS, "~": Truth.BETWEEN, "-": Truth.CLEARS, "?": Truth.UNKNOWN}


def run(
    looks: str, step: float = 10, track: Track | None = None, begin: float = 0
) -> tuple[Track | None, list[tuple[int, Change]]]:
    """Looks every so many seconds; a space is one that nobody took. What changed, and when."""
    told: list[tuple[int, Change]] = []
    for number, letter in enumerate(looks):
        at = begin + number * step
        if letter != " ":
            track, changes = advance(track, Observation(round(at * SECOND), LETTERS[letter]), TIMING)
            told += [(round(at), change) for change in changes if change is not Change.RENEWED]
    return track, told


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        ("---", []),
        ("++", [(0, Change.BEGAN)]),
        ("++-", [(0, Change.BEGAN), (20, Change.ENDED)]),
        ("++++", [(0, Change.BEGAN), (30, Change.FIRED)]),
        ("++++--", [(0, Change.BEGAN), (30, Change.FIRED)]),
        ("++++---", [(0, Change.BEGAN), (30, Change.FIRED), (60, Change.RESOLVED)]),
        ("++++--+---", [(0, Change.BEGAN), (30, Change.FIRED), (90, Change.RESOLVED)]),
        ("++++~~~~~~", [(0, Change.BEGAN), (30, Change.FIRED)]),
        ("++++-~-~-~", [(0, Change.BEGAN), (30, Change.FIRED)]),
        ("~~~~", []),
        ("????", []),
    ],
)
def test_what_becomes_of_a_condition(looks: str, expected: list[tuple[int, Change]]) -> None:
    assert run(looks)[1] == expected


def test_a_gap_is_not_measured_time() -> None:
    """Two looks 30 s apart cover 5 s each: no 30 s were seen."""
    track, told = run("+   +")
    assert told == [(0, Change.BEGAN)]
    assert track is not None
    assert (track.state, track.held_ns) == (PENDING, 5 * SECOND)


def test_no_data_keeps_a_firing_alert_and_counts_for_no_recovery() -> None:
    track, told = run("++++????")
    assert told[-1] == (40, Change.LOST)
    assert track is not None
    assert (track.state, track.no_data) == (FIRING, True)
    track, told = run("---", track=track, begin=1000)
    assert told == [(1000, Change.FOUND), (1020, Change.RESOLVED)]


def test_losing_it_twice_is_told_once() -> None:
    track, _ = run("++++")
    assert track is not None
    track, first = lose(track)
    assert (first, lose(track)[1]) == ([Change.LOST], [])


def test_the_source_knows_better_since_when() -> None:
    seen = Observation(100 * SECOND, Truth.HOLDS, since_ns=60 * SECOND, held_ns=35 * SECOND)
    track, changes = advance(None, seen, TIMING)
    assert changes == [Change.BEGAN, Change.FIRED]
    assert track is not None
    assert track.began_ns == 60 * SECOND


def test_the_source_knows_better_for_how_long_it_is_clear() -> None:
    track, _ = run("++++")
    after, changes = advance(track, Observation(40 * SECOND, Truth.CLEARS, clear_ns=20 * SECOND), TIMING)
    assert (after, changes) == (None, [Change.RESOLVED])


LOOKS = st.lists(st.tuples(st.integers(1, 40), st.sampled_from([*LETTERS.values()])), max_size=40)


@given(LOOKS, st.data())
def test_doubled_late_and_stored_looks_change_nothing(looks: list[tuple[int, Truth]], data: st.DataObject) -> None:
    plain: Track | None = None
    messy: Track | None = None
    seen: list[Observation] = []
    at = 0
    for step, truth in looks:
        at += step
        seen.append(Observation(at * SECOND, truth))
        plain, expected = advance(plain, seen[-1], TIMING)
        if messy is not None:
            messy = Track.from_plain(json.loads(json.dumps(messy.to_plain())))
        messy, told = advance(messy, seen[-1], TIMING)
        assert told == expected
        if messy is not None:
            again = data.draw(st.sampled_from(seen))
            assert advance(messy, again, TIMING) == (messy, [])
    assert messy == plain


@given(LOOKS)
def test_it_fires_only_after_for_and_in_order(looks: list[tuple[int, Truth]]) -> None:
    track: Track | None = None
    at, began, state = 0, 0, None
    for step, truth in looks:
        at += step
        track, changes = advance(track, Observation(at * SECOND, truth), TIMING)
        for change in changes:
            if change is Change.BEGAN:
                assert state is None
                began, state = at, PENDING
            elif change is Change.FIRED:
                assert state == PENDING
                assert at - began >= 30
                state = FIRING
            elif change in (Change.RESOLVED, Change.ENDED):
                assert state == (FIRING if change is Change.RESOLVED else PENDING)
                state = None
        assert (track.state if track else None) == state
