"""Stored bytes inflate to what they were, in bounded memory, or are said to be damaged."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import pytest

from gapscope_backend.errors import StoreError
from gapscope_backend.store.hot import DEFLATED, GZIPPED, PLAIN, pack, unpack
from gapscope_backend.store.inflate import inflate


def test_what_was_deflated_comes_back() -> None:
    for size in (0, 1, 5000):
        assert inflate(zlib.compress(b"x" * size), max(size, 1)) == b"x" * size
    assert unpack(*pack(b"y" * 1000)) == b"y" * 1000
    assert unpack(PLAIN, b"as it is") == b"as it is"


def test_what_came_gzipped_is_kept_as_it_came() -> None:
    payload = b"y" * 1000
    sent = gzip.compress(payload, 1)
    assert pack(payload, sent) == (GZIPPED, sent)
    assert unpack(GZIPPED, sent) == payload
    assert pack(b"short", gzip.compress(b"short")) == (PLAIN, b"short")


def test_as_many_bytes_as_are_allowed_come_back_and_one_more_does_not() -> None:
    for packed in (zlib.compress(b"z" * 4096), gzip.compress(b"z" * 4096)):
        assert inflate(packed, 4096) == b"z" * 4096
        with pytest.raises(StoreError, match="more than 4095"):
            inflate(packed, 4095)


def test_a_bomb_is_refused_before_it_unfolds() -> None:
    bomb = zlib.compress(bytes(50_000_000))
    tracemalloc.start()
    with pytest.raises(StoreError, match="damaged"):
        inflate(bomb, 1_000_000)
    with pytest.raises(StoreError, match="damaged"):
        unpack(DEFLATED, bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize("data", [b"", b"no zlib", zlib.compress(b"abc" * 100)[:-3]])
def test_what_is_no_whole_stream_is_refused(data: bytes) -> None:
    with pytest.raises(StoreError, match="damaged"):
        inflate(data, 10_000)
