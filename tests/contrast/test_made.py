"""Gap against rest on windows made by hand: the test for chance, missing data."""

from __future__ import annotations

import numpy as np
import pytest

from gapscope_backend.analysis.contrast import contrast
from gapscope_backend.analysis.contrast.blocks import find_blocks
from gapscope_backend.analysis.contrast.split import Split, split_by_spans
from gapscope_backend.analysis.verdict import Span
from gapscope_backend.analysis.view import read_views
from gapscope_backend.analysis.window import Floats
from tests.contrast.windows import CELL, PER_CELL, START, on_off, snapshots, window

CELLS = 250
NAMES = ("load", "step", "log", "route")


def _graphics(random: np.random.Generator, mean_run: float = 5.0) -> Floats:
    return np.clip(0.05 + 0.85 * on_off(random, CELLS, mean_run) + 0.03 * random.random(CELLS), 0, 1)


def test_a_function_that_fills_the_gaps_is_found() -> None:
    random = np.random.default_rng(1)
    graphics = _graphics(random)
    idle = np.repeat(graphics < 0.5, PER_CELL)
    noise = random.integers(2, 4, idle.size)
    functions = np.where(random.random(idle.size) < 0.3, noise, np.where(idle, 0, 1))
    found = contrast(window(graphics, snapshots(functions, NAMES)), window(graphics).gpus[0])
    by_name = {d.name: d for d in found.functions}
    assert [name for name in NAMES if by_name[name].significant] == ["load", "step"]
    assert by_name["load"].effect > 0.5 > -0.5 > by_name["step"].effect
    assert (by_name["main"].in_gaps, by_name["main"].in_rest) == pytest.approx((1.0, 1.0))
    assert found.functions[0].name == "load"
    assert found.sentence.startswith("GPU 0: in its gaps load (job.py:10) is on the stack")


def test_runs_that_have_nothing_to_do_with_the_gpu_are_not_found() -> None:
    """Functions in runs of a second, GPU in runs of half a second: cells or samples are far from independent."""
    findings = 0
    for seed in range(30):
        random = np.random.default_rng(seed)
        graphics = _graphics(random)
        state = (2 * on_off(random, CELLS, 10) + on_off(random, CELLS, 7)).astype(np.int64)
        found = contrast(window(graphics, snapshots(np.repeat(state, PER_CELL), NAMES)), window(graphics).gpus[0])
        findings += any(d.significant for d in (*found.functions, *found.lines))
    assert findings <= 4


def test_metrics_are_compared_without_stacks() -> None:
    random = np.random.default_rng(3)
    graphics = _graphics(random)
    busy = np.where(graphics < 0.5, 6.0, 1.0) + random.random(CELLS)
    other = random.random(CELLS)
    found = contrast(window(graphics, cpu_busy_cores=busy, cpu_iowait_cores=other), window(graphics).gpus[0])
    assert (found.functions, found.threads) == ((), ())
    by_name = {d.name: d for d in found.metrics}
    assert by_name["host cpu_busy_cores"].significant
    assert by_name["host cpu_busy_cores"].in_gaps > by_name["host cpu_busy_cores"].in_rest + 3
    assert not by_name["host cpu_iowait_cores"].significant
    assert by_name["gpu:a gpu_graphics_active_ratio"].follows
    assert found.metrics[-1].follows
    assert found.sentence == (
        f"GPU 0: in its gaps host cpu_busy_cores is {by_name['host cpu_busy_cores'].in_gaps:.2g} cores, "
        f"while it works {by_name['host cpu_busy_cores'].in_rest:.2g} cores."
    )


def test_one_gap_is_too_few_to_test() -> None:
    graphics = np.where(np.arange(CELLS) < 100, 0.0, 1.0)
    functions = np.repeat(np.where(graphics < 0.5, 0, 1), PER_CELL)
    found = contrast(window(graphics, snapshots(functions, NAMES)), window(graphics).gpus[0])
    assert found.blocks == 0
    assert found.functions[0].name == "load"
    assert found.functions[0].p_value is None
    assert not any(d.significant for d in found.functions)
    assert "coincidence" in found.sentence


def test_nothing_measured_says_so() -> None:
    empty = window(np.full(CELLS, np.nan))
    found = contrast(empty, empty.gpus[0])
    assert "nothing was measured" in found.sentence
    assert (found.has_contrast, found.idlest, found.hotspots) == (False, None, ())


def test_no_contrast_without_stacks_has_no_function_to_name() -> None:
    even = window(np.full(CELLS, 0.3))
    found = contrast(even, even.gpus[0])
    assert (found.has_contrast, found.hotspots) == (False, ())
    assert found.sentence.endswith("too alike to set gaps against the rest.")


def test_cells_without_data_count_to_neither_side() -> None:
    graphics = _graphics(np.random.default_rng(4))
    graphics[50:100] = np.nan
    functions = np.repeat(np.where(np.nan_to_num(graphics) < 0.5, 0, 1), PER_CELL)
    found = contrast(window(graphics, snapshots(functions, NAMES)), window(graphics).gpus[0])
    total = found.functions[0].gap_total + found.functions[0].rest_total
    assert total == pytest.approx((CELLS - 50) * PER_CELL)


def test_blocks_are_as_long_as_the_runs() -> None:
    random = np.random.default_rng(5)

    def length(values: Floats) -> int:
        return find_blocks(Split("idle_share", 1 - values, values, 0.0, 1.0)).length

    assert length(random.random(CELLS)) == 2
    assert 4 < length(on_off(random, CELLS, 5)) < length(on_off(random, CELLS, 20))
    assert not find_blocks(Split("idle_share", np.zeros(3), np.ones(3), 0.0, 1.0)).enough


def test_a_span_covers_cells_in_part() -> None:
    (view,) = read_views(window(np.ones(10)))
    split = split_by_spans(view, [Span(START + CELL // 4, START + 2 * CELL)])
    assert split.gap[:4] == pytest.approx([0.75, 1.0, 0.0, 0.0])
    assert split.gap + split.rest == pytest.approx(np.ones(10))
