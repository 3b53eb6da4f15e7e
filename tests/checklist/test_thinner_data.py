"""Checklist, comparison and contrast on recordings with data taken away: coarser answers, never an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gapscope_backend.analysis.checklist import run_checklist
from gapscope_backend.analysis.compare import compare
from gapscope_backend.analysis.contrast import contrast
from gapscope_backend.analysis.window import Series, Window
from tests.contrast.recordings import recorded

pytestmark = pytest.mark.cases


def _without(window: Window, *ends: str) -> Window:
    return replace(window, series={key: s for key, s in window.series.items() if not key[1].endswith(ends)})


def _each_second(window: Window) -> Window:
    return replace(window, series={key: Series(s.times[::10], s.values[::10]) for key, s in window.series.items()})


THINNER: dict[str, Callable[[Window], Window]] = {
    "no stacks": lambda w: replace(w, stacks=None),
    "no hardware counters": lambda w: _without(w, "_active_ratio", "_occupancy_ratio", "bytes_per_second"),
    "no processes": lambda w: replace(w, processes=()),
    "1 Hz": _each_second,
    "nothing": lambda w: replace(w, series={}, stacks=None),
    "two cells": lambda w: replace(w, end_ns=w.start_ns + 150_000_000),
    "no time": lambda w: replace(w, end_ns=w.start_ns),
    "no GPU": lambda w: replace(w, gpus=()),
}


@pytest.mark.parametrize("change", THINNER)
@pytest.mark.parametrize("name", ["checkpoints", "image-service-pil", "two-gpus-uneven"])
def test_thinner_data_is_no_error(name: str, change: str) -> None:
    whole = recorded(name)
    thin = THINNER[change](whole)
    lines = run_checklist(thin).lines
    assert all(np.isfinite(line.value) for line in lines if line.value is not None)
    assert [side.label for side in compare([("whole", whole), ("thin", thin)]).sides] == ["whole", "thin"]
    for gpu in thin.gpus:
        found = contrast(thin, gpu)
        assert found.sentence
        assert all(np.isfinite(d.in_gaps + d.in_rest + d.effect) for d in (*found.functions, *found.metrics))


@pytest.mark.parametrize("change", ["1 Hz", "no hardware counters"])
def test_a_contrast_survives_coarser_counters(change: str) -> None:
    window = THINNER[change](recorded("checkpoints"))
    top = contrast(window, window.gpus[0]).functions[0]
    assert (top.name, top.significant) == ("save", True)


def test_without_stacks_lines_about_stacks_are_not_measurable() -> None:
    window = replace(recorded("gemm-bf16"), stacks=None)
    statuses = {line.check: line.status for line in run_checklist(window).lines}
    assert (statuses["preprocessing"], statuses["synchronisation"]) == ("not_measurable", "not_measurable")
    assert (statuses["precision"], statuses["subsecond"]) == ("pass", "pass")
