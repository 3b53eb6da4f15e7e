"""The figures of the page in their short form: they are printed, and only their presence is held."""

from __future__ import annotations

import json

import pytest

from tests.bench.page import is_flat, measure
from tests.browser.chromium import find


@pytest.mark.browser
@pytest.mark.timeout(600)
@pytest.mark.skipif(find() is None, reason="no Chromium")
def test_the_page_in_short(capsys: pytest.CaptureFixture[str]) -> None:
    told = measure(seconds=20)
    with capsys.disabled():
        print(f"\npage: {json.dumps(told)}")
    assert told["live_draw_ms"]["count"] > 0
    assert told["sample_to_pixel_ms"]["count"] > 0
    assert told["redraw_ms"]["count"] > 0
    assert told["grid_ms"]["count"] > 0


def test_a_heap_is_flat_or_grows() -> None:
    assert is_flat([5, 9, 9, 10, 10, 10, 10, 9, 10])
    assert not is_flat([5, 6, 7, 8, 9, 10, 11, 12, 13])
