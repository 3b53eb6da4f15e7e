"""The checklist on recordings of real GPUs whose bottleneck is known."""

from __future__ import annotations

import pytest

from gapscope_backend.analysis.checklist import CHECKS, Checklist, run_checklist
from tests.contrast.recordings import CASES, bundled, recorded

EXPECTED = {
    "image-service-pil": {"preprocessing": "fail", "synchronisation": "pass", "memory": "pass"},
    "image-service-batch-1": {"batching": "fail", "preprocessing": "pass"},
    "image-service-batch-window": {"batching": "fail", "precision": "warn"},
    "image-service-cuda-graph": {"batching": "pass", "precision": "pass", "other_faults": "pass"},
    "gemm-fp32": {"precision": "fail", "batching": "pass"},
    "gemm-bf16": {"precision": "pass", "clocks": "pass", "subsecond": "pass", "other_faults": "pass"},
    "item-each-step": {"synchronisation": "fail"},
    "train-no-workers": {"dataloader": "fail", "precision": "warn"},
    "train-two-workers": {"dataloader": "fail", "cpu": "pass"},
    "two-gpus-uneven": {"evenness": "fail", "precision": "pass"},
    "ddp-straggler": {"evenness": "fail"},
    "gil-threads": {"preprocessing": "fail"},
    "empty-cache": {"memory": "fail"},
    "checkpoints": {"other_faults": "fail", "precision": "pass"},
    "remote-reads": {"other_faults": "fail", "preprocessing": "pass"},
    "tiny-kernels": {"other_faults": "fail"},
    "two-tenants": {"other_faults": "warn"},
    "no-traffic": {"batching": "not_measurable", "precision": "not_measurable"},
}


def _statuses(found: Checklist) -> dict[str, str]:
    return {line.check: line.status for line in found.lines}


@pytest.mark.cases
@pytest.mark.parametrize("name", EXPECTED)
def test_the_known_fault_fails_its_line(name: str) -> None:
    statuses = _statuses(run_checklist(recorded(name)))
    assert {check: statuses[check] for check in EXPECTED[name]} == EXPECTED[name]


@pytest.mark.cases
def test_a_program_that_uses_its_gpu_passes_as_a_whole() -> None:
    for name in ("gemm-bf16", "image-service-cuda-graph"):
        found = run_checklist(recorded(name))
        assert (found.status, [line for line in found.lines if line.status in ("fail", "warn")]) == ("pass", [])


@pytest.mark.cases
def test_every_line_has_a_figure_and_every_fault_an_advice() -> None:
    for folder in sorted(CASES.glob("*/truth.json")):
        found = run_checklist(recorded(folder.parent.name))
        assert [line.check for line in found.lines] == [check.id for check in CHECKS]
        assert all(line.figure.strip() and line.figure[-1] in "." for line in found.lines)
        assert all(line.advice for line in found.lines if line.status in ("fail", "warn"))
        assert not any(line.advice for line in found.lines if line.status == "pass")


@pytest.mark.cases
def test_workers_are_counted_and_told_against_cores() -> None:
    line = next(one for one in run_checklist(recorded("train-two-workers")).lines if one.check == "dataloader")
    assert line.figure.startswith("2 workers on 16 cores, each using 1.00 of a core")
    assert "raise num_workers from 2" in line.advice
    line = next(one for one in run_checklist(recorded("train-no-workers")).lines if one.check == "dataloader")
    assert line.figure.startswith("No workers (num_workers=0)")


@pytest.mark.cases
def test_no_load_is_said() -> None:
    assert "check again under load" in run_checklist(recorded("no-traffic")).sentence
    assert "check again under load" not in run_checklist(recorded("gil-threads")).sentence


def test_the_bundled_recording() -> None:
    found = run_checklist(bundled())
    statuses = _statuses(found)
    assert (statuses["preprocessing"], statuses["precision"], statuses["pcie"]) == ("fail", "fail", "pass")
    tools = {hint.tool: hint.command for hint in found.beyond}
    assert set(tools) == {"nsys", "ncu", "torch.profiler"}
    assert tools["nsys"].endswith(next(p.command for p in bundled().processes if p.pid == 421))
    assert "--pids 421" in tools["torch.profiler"]
