"""Samples that come once a cell fill one cell each, wherever they lie against the cells' borders."""

from __future__ import annotations

import numpy as np
import pytest

from gapscope_backend.analysis.window import CELL_NS, Series, Window

START = 1_700_000_000_000_000_000


@pytest.mark.parametrize("phase_ms", [0, 10, 49, 50, 51, 90, 100])
def test_jitter_at_a_border_leaves_no_cell_empty(phase_ms: int) -> None:
    jitter = np.random.default_rng(3).integers(-8_000_000, 8_000_000, 200)
    times = START + np.arange(200) * CELL_NS + phase_ms * 1_000_000 + jitter
    values = np.arange(200, dtype=np.float64)
    series = {("gpu:a", "gpu_graphics_active_ratio"): Series(times, values)}
    window = Window("h", START, START + 200 * CELL_NS, 4, (), (), series)
    cells = window.cells("gpu:a", "gpu_graphics_active_ratio")
    inner = cells[2:-2]
    assert not np.isnan(inner).any()
    assert (np.diff(inner) == 1).all()


def test_a_sample_that_is_missing_leaves_its_cell_empty() -> None:
    times = START + np.delete(np.arange(100), 50) * CELL_NS + 97_000_000
    series = {("gpu:a", "gpu_power_watts"): Series(times, np.ones(99))}
    window = Window("h", START, START + 100 * CELL_NS, 4, (), (), series)
    assert np.isnan(window.cells("gpu:a", "gpu_power_watts")).sum() == 1
