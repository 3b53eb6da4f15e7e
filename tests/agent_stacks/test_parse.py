"""py-spy's output: what it means, and that nothing in it can do more than raise OutputError."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapscope_agent.stacks.parse import MAX_DEPTH, MAX_THREADS, OutputError, parse_dump, parse_trace, seconds_behind


def mark(kind: str, name: str, ts: int, tid: int = 1, line: int = 0) -> dict[str, Any]:
    place = {"filename": "" if name.startswith("thread") else "/a.py", "line": line}
    return {"args": place, "cat": "py-spy", "name": name, "ph": kind, "pid": 9, "tid": tid, "ts": ts}


def encode(*marks: dict[str, Any]) -> bytes:
    return json.dumps(marks).encode()


def test_a_dump_gives_each_thread_with_its_flags() -> None:
    frame = {"name": "f", "filename": "/a.py", "line": 3, "module": None, "locals": None}
    thread = {"pid": 9, "thread_id": 5, "thread_name": "main", "os_thread_id": 9, "active": True, "owns_gil": False}
    (found,) = parse_dump(json.dumps([{**thread, "frames": [frame], "process_info": None}]).encode())
    assert (found.ident, found.tid, found.name, found.active, found.owns_gil) == (5, 9, "main", True, False)
    assert [(f.function, f.file, f.line) for f in found.frames] == [("f", "/a.py", 3)]


def test_each_look_of_a_trace_is_whole_and_innermost_first() -> None:
    looks = parse_trace(
        encode(
            mark("B", "thread (9): main: x", 100),
            mark("B", "outer", 100, line=1),
            mark("B", "inner", 100, line=2),
            mark("B", "thread (0x7F): ", 140, tid=2),
            mark("B", "wait", 140, tid=2, line=8),
            mark("E", "inner", 200_100, line=2),
            mark("B", "inner", 200_100, line=3),
            mark("E", "inner", 900_000, line=3),
            mark("E", "outer", 900_000, line=1),
            mark("E", "thread (9): main: x", 900_000),
            mark("E", "wait", 900_010, tid=2, line=8),
            mark("E", "thread (0x7F): ", 900_010, tid=2),
        )
    )
    assert [look.t_us for look in looks] == [100, 200_100]
    first, second = looks
    assert [(t.ident, t.tid, t.name) for t in first.threads] == [(1, 9, "main: x"), (2, None, None)]
    assert [[(f.function, f.line) for f in t.frames] for t in first.threads] == [
        [("inner", 2), ("outer", 1)],
        [("wait", 8)],
    ]
    assert [(f.function, f.line) for f in second.threads[0].frames] == [("inner", 3), ("outer", 1)]
    assert second.threads[1] == first.threads[1]


@pytest.mark.parametrize(
    ("output", "what"),
    [
        (b"", "cannot be read"),
        (b"{}", "cannot be read"),
        (b"\xff", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (encode(mark("E", "f", 1)), "closes"),
        (encode(mark("X", "f", 1)), "kind"),
        (encode(mark("B", "no thread", 1)), "names a thread"),
        (encode(mark("B", "thread (1): a", 5), mark("B", "f", 4)), "back in time"),
        (encode(mark("B", "thread (1): a", 1), *(mark("B", "f", 1) for _ in range(MAX_DEPTH + 2))), "deeper"),
        (encode(*(mark("B", "thread (1): a", 1, tid=n) for n in range(MAX_THREADS + 1))), "threads"),
    ],
)
def test_a_trace_that_is_none_is_named(output: bytes, what: str) -> None:
    with pytest.raises(OutputError, match=what):
        parse_trace(output)


def test_what_py_spy_says_of_its_lateness() -> None:
    said = "py-spy> 1.17s behind in sampling, results may be inaccurate.\npy-spy> 6.28s behind in sampling, x"
    assert seconds_behind(said) == 6.28
    assert seconds_behind("py-spy> Sampling process 10 times a second") == 0.0


_NAMES = st.sampled_from(["thread (1): a", "thread (0xFF): b", "f", "g"]) | st.text(max_size=20)
_MARKS = st.builds(
    mark,
    st.sampled_from("BEX"),
    _NAMES,
    st.integers(-(1 << 70), 1 << 70) | st.integers(0, 50),
    st.integers(0, 3),
    st.integers(-(1 << 40), 1 << 40),
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(st.binary(max_size=200) | _JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_give_threads_or_a_named_fault(output: bytes) -> None:
    for parse in (parse_dump, parse_trace):
        try:
            found: Any = parse(output)
        except OutputError:
            continue
        assert isinstance(found, list)


@given(st.lists(_MARKS, max_size=12))
def test_any_marks_give_looks_that_travel_or_a_named_fault(marks: list[dict[str, Any]]) -> None:
    try:
        looks = parse_trace(encode(*marks))
    except OutputError:
        return
    times = [look.t_us for look in looks]
    assert times == sorted(times)
    for look in looks:
        for thread in look.threads:
            msgspec.msgpack.encode(thread.frames)
            assert all(-1 <= frame.line <= 1 << 31 for frame in thread.frames)
