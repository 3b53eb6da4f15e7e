"""Recordings of real GPUs side by side: the rounds that an engineer takes with an image service."""

from __future__ import annotations

import pytest

from gapscope_backend.analysis.compare import Comparison, compare
from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.window import Window
from tests.contrast.recordings import recorded


def _compare(*names: str) -> Comparison:
    return compare([(name, recorded(name)) for name in names])


def _shares(found: Comparison, cause: str) -> tuple[float, ...]:
    return next((row.shares for row in found.ledger if row.cause == cause), ())


@pytest.mark.cases
def test_from_pil_to_a_cuda_graph() -> None:
    found = _compare("image-service-pil", "image-service-cuda-graph")
    assert [side.verdict for side in found.sides] == ["cpu_preprocess", "healthy"]
    assert found.better[0] == "cpu_preprocess"
    assert found.worse == ()
    before, after = _shares(found, "cpu_preprocess")
    assert before > 0.9
    assert after < 0.01
    assert found.next_limit == "roof"
    assert "cpu_preprocess (waits for CPU work in the feeding process) fell from" in found.sentence
    assert "Graphics active went from 6" in found.sentence
    assert "the nearest roof is the power limit" in found.sentence


@pytest.mark.cases
def test_the_middle_round_shows_the_next_limit() -> None:
    found = _compare("image-service-pil", "image-service-batch-1")
    assert found.better[0] == "cpu_preprocess"
    assert "batch_too_small" in found.worse
    assert found.next_limit == "batch_too_small"
    assert "Next limit: batch_too_small" in found.sentence
    assert "dynamic batches" in found.sentence


@pytest.mark.cases
def test_three_sides_have_three_values_everywhere() -> None:
    found = _compare("image-service-pil", "image-service-batch-1", "image-service-cuda-graph")
    assert {len(row.values) for row in found.metrics} == {3}
    assert {len(row.shares) for row in found.ledger} == {3}
    assert {len(row.shares) for row in found.functions} == {3}
    for side in range(3):
        assert sum(row.shares[side] for row in found.ledger) == pytest.approx(1.0)
    assert {row.level for row in found.metrics} >= {"time", "pipelines", "throughput", "power", "pcie", "cpu"}
    power = next(row.values for row in found.metrics if row.name == "gpu_power_watts" and row.unit == "watts")
    assert [value is not None and value > 100 for value in power] == [True] * 3
    load = next(row for row in found.functions if row.function == "ImageFile.load")
    assert load.shares[0] == pytest.approx(0.42, abs=0.05)
    assert load.shares[1:] == (0.0, 0.0)
    assert found.sides[0].lost_share > 0.9 > 0.01 > found.sides[2].lost_share


@pytest.mark.cases
def test_precision_shows_in_the_pipes() -> None:
    found = _compare("gemm-fp32", "gemm-bf16")
    assert found.better == ("no_tensor_cores",)
    assert "Tensor pipes went from 0 % to 93" in found.sentence


@pytest.mark.cases
def test_a_recording_beside_itself_has_not_changed() -> None:
    found = _compare("bursts", "bursts")
    assert (found.better, found.worse) == ((), ())
    assert "no cause moved by 8% of the GPU time or more" in found.sentence
    assert found.next_limit == "no_work"


@pytest.mark.cases
def test_notes_tell_what_does_not_compare() -> None:
    found = _compare("gemm-bf16", "two-gpus-uneven")
    assert "different numbers of GPUs (gemm-bf16: 1, two-gpus-uneven: 2)" in found.notes[0]
    verdict = diagnose(recorded("two-gpus-uneven"))
    assert found.sides[1].gpu_count == verdict.gpu_count == 2


@pytest.mark.cases
def test_ranks_of_one_job_are_compared_by_the_threads_of_all() -> None:
    """Each GPU of a job has its own feeding threads; none is counted twice."""
    sides = [(label, recorded("ddp-straggler")) for label in ("a", "b")]
    found = compare(sides)
    assert found.functions
    assert all(sum(row.samples[side] for row in found.functions) <= _samples(sides[0][1]) for side in (0, 1))


def _samples(window: Window) -> int:
    return 0 if window.stacks is None else window.stacks.times.size
