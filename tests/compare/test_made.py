"""Comparisons of windows made by hand: missing figures, too few sides."""

from __future__ import annotations

import numpy as np
import pytest

from gapscope_backend.analysis.compare import compare
from gapscope_backend.analysis.quantity import quantity
from tests.contrast.windows import snapshots, window

CELLS = 50


def test_one_side_is_no_comparison() -> None:
    with pytest.raises(ValueError, match="at least two"):
        compare([("only", window(np.ones(CELLS)))])


def test_what_one_side_lacks_is_none_and_noted() -> None:
    with_stacks = window(np.zeros(CELLS), snapshots(np.zeros(2 * CELLS, dtype=np.int64), ["load"]))
    found = compare([("a", with_stacks), ("b", window(np.ones(CELLS), cpu_busy_cores=np.full(CELLS, 3.0)))])
    cores = next(row for row in found.metrics if row.name == "cpu_busy_cores")
    assert cores.values == (None, 3.0)
    (load,) = found.functions
    assert (load.function, load.shares, load.samples) == ("load", (1.0, None), (100, 0))
    assert any(note.startswith("b: no stack samples") for note in found.notes)


def test_a_side_without_hardware_counters_has_no_graphics_active() -> None:
    """The driver's utilization counts copies and hides gaps; it must not stand in the same row."""
    plain = window(np.ones(CELLS))
    values = plain.series["gpu:a", "gpu_graphics_active_ratio"]
    coarse = window(np.full(CELLS, np.nan))
    series = {**coarse.series, ("gpu:a", "gpu_utilization_ratio"): values}
    object.__setattr__(coarse, "series", series)
    found = compare([("fine", plain), ("coarse", coarse)])
    active = next(row for row in found.metrics if row.name == "gpu_graphics_active_ratio")
    utilization = next(row for row in found.metrics if row.name == "gpu_utilization_ratio")
    assert active.values[0] == pytest.approx(1.0)
    assert active.values[1] is None
    assert utilization.values[0] is None
    assert utilization.values[1] == pytest.approx(1.0)
    assert any("coarse: no hardware counters" in note for note in found.notes)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0, "ratio", "0 %"),
        (0.9987, "ratio", "99.9 %"),
        (1.0, "ratio", "100 %"),
        (0.00049, "ratio", "0.049 %"),
        (574.3, "watts", "574 W"),
        (1.98e9, "hertz", "1980 MHz"),
        (26.5e6, "bytes/s", "26.5 MB/s"),
        (512.0, "bytes", "512 B"),
        (150754820096.0, "bytes", "151 GB"),
        (-3.25, "cores", "-3.2 cores"),
        (12.0, "", "12.0"),
        (None, "watts", "-"),
    ],
)
def test_figures_as_people_read_them(value: float | None, unit: str, text: str) -> None:
    assert quantity(value, unit) == text
