"""Gap against rest on recordings of real GPUs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapscope_backend.analysis.contrast import Contrast, contrast
from gapscope_backend.analysis.verdict import Span
from gapscope_backend.analysis.window import StackSamples, Window
from tests.contrast.recordings import bundled, recorded

SECOND = 1_000_000_000


def _contrast(name: str) -> Contrast:
    window = recorded(name)
    return contrast(window, window.gpus[0])


@pytest.mark.cases
def test_saving_stands_out_in_the_gaps_of_a_training_loop() -> None:
    found = _contrast("checkpoints")
    assert found.has_contrast
    top = found.functions[0]
    assert (top.name, top.significant) == ("save", True)
    assert top.detail.startswith("torch/serialization.py")
    assert top.in_gaps > 0.9
    assert top.in_rest < 0.05
    assert top.gap_count / top.gap_total == pytest.approx(top.in_gaps)
    assert found.lines[0].significant
    assert "save" in found.lines[0].detail
    wait = next(d for d in found.functions if d.name == "synchronize")
    assert wait.significant
    assert wait.effect < -2
    writes = next(d for d in found.metrics if d.name.endswith("process_write_bytes_per_second"))
    assert writes.significant
    assert writes.in_gaps > 5 * writes.in_rest
    assert "torch/serialization.py" in found.sentence


@pytest.mark.cases
def test_the_wait_for_requests_stands_out_in_bursts() -> None:
    found = _contrast("bursts")
    top = found.functions[0]
    assert top.significant
    assert top.in_gaps > 0.95
    assert top.in_rest < 0.1
    assert found.hotspots[0].function == top.name
    assert all(thread.effect < 0 for thread in found.threads if thread.significant)


def test_the_bundled_recording_shows_functions_but_one_long_gap_proves_nothing() -> None:
    window = bundled()
    found = contrast(window, window.gpus[0])
    assert found.has_contrast
    shown = {d.name: d for d in found.functions}
    assert shown["preprocess"].in_gaps > shown["preprocess"].in_rest + 0.4
    assert shown["ImageFile.load"].effect > 0.8
    assert found.blocks == 0
    assert {d.p_value for d in found.functions} == {None}
    assert "coincidence" in found.sentence


@pytest.mark.cases
def test_waiting_inside_every_cell_is_no_contrast() -> None:
    found = _contrast("image-service-pil")
    assert not found.has_contrast
    assert "inside every 100 ms" in found.sentence
    assert (found.functions, found.lines, found.threads, found.processes, found.metrics) == ((), (), (), (), ())
    assert found.hotspots[0].file == "PIL/ImageFile.py"
    seconds = [spot.idle_gpu_seconds for spot in found.hotspots]
    assert seconds == sorted(seconds, reverse=True)
    assert 0.9 * found.idle_gpu_seconds < sum(seconds) <= found.idle_gpu_seconds * 1.001


@pytest.mark.cases
def test_a_wait_points_to_what_is_waited_for() -> None:
    """The trainer waits for its two workers: its wait differs, but the idle time falls under what the workers do."""
    found = _contrast("train-two-workers")
    (trainer,) = recorded("train-two-workers").gpus[0].owners
    assert {spot.pid for spot in found.hotspots[:4]} & {trainer} == set()
    assert found.hotspots[0].file.startswith("PIL/")
    assert "of the idle time falls under ImageFile.load" in found.sentence


@pytest.mark.cases
def test_a_full_gpu_has_no_gaps() -> None:
    assert "has no gaps" in _contrast("gemm-bf16").sentence


@pytest.mark.cases
def test_the_users_span_is_set_against_the_rest() -> None:
    window = recorded("image-service-pil")
    start = window.start_ns
    found = contrast(window, window.gpus[0], [Span(start + 5 * SECOND, start + 9 * SECOND)])
    assert (found.split, found.has_contrast) == ("spans", True)
    load = next(d for d in found.functions if d.name == "ImageFile.load")
    assert load.gap_total == pytest.approx(80, abs=5)
    assert not load.significant
    everything = contrast(window, window.gpus[0], [Span(start, window.end_ns)])
    assert not everything.has_contrast
    assert "no rest" in everything.sentence


def _shuffled(window: Window, seed: int) -> Window:
    stacks = window.stacks
    assert isinstance(stacks, StackSamples)
    order = np.random.default_rng(seed).permutation(stacks.times.size)
    columns = {name: getattr(stacks, name)[order] for name in ("active", "owns_gil", "stack")}
    return replace(window, stacks=replace(stacks, **columns))


@pytest.mark.cases
@pytest.mark.parametrize("name", ["checkpoints", "bursts"])
def test_shuffled_stacks_have_no_significant_difference(name: str) -> None:
    window = recorded(name)
    findings = 0
    for seed in range(10):
        found = contrast(_shuffled(window, seed), window.gpus[0])
        assert found.blocks > 0
        findings += any(d.significant for d in (*found.functions, *found.lines, *found.threads, *found.processes))
    assert findings <= 1


@pytest.mark.cases
def test_the_same_window_gives_the_same_answer() -> None:
    assert _contrast("checkpoints") == _contrast("checkpoints")
