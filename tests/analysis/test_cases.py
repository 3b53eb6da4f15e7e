"""Verdicts on recordings of real GPUs whose bottleneck is known, as recorded and with data taken away."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.window import Window
from tests.analysis.ablations import ABLATIONS
from tests.analysis.accuracy import DOCUMENT, Case, ablation_table, case_names, outcomes

pytestmark = pytest.mark.cases
MAY_BE_WRONG = 2


def _sums(window: Window) -> str:
    verdict = diagnose(window)
    assert sum(row.gpu_seconds for row in verdict.ledger) == pytest.approx(window.seconds * len(window.gpus))
    assert sum(row.share for row in verdict.ledger) == pytest.approx(1.0)
    for gpu in verdict.gpus:
        assert sum(row.gpu_seconds for row in gpu.ledger) == pytest.approx(window.seconds)
    return verdict.verdict


def test_recording_gets_its_exact_cause(case: Case) -> None:
    assert _sums(case.window) == case.accept[0]


def test_ledgers_add_up_without_stacks_or_counters(case: Case) -> None:
    for change in ("no stacks", "no hardware counters", "30 % of samples dropped", "six seconds of it"):
        _sums(ABLATIONS[change](case.window))


def test_nothing_at_all_is_not_measured(case: Case) -> None:
    assert _sums(replace(case.window, series={}, stacks=None)) == "not_measured"


@pytest.fixture(scope="module", autouse=True)
def _recordings() -> None:
    if not case_names():
        pytest.skip("no recorded cases beside the project")


STILL_RIGHT = (
    "as recorded",
    "names hashed",
    "no source lines",
    "every tenth stack",
    "1 Hz",
    "30 % of values missing",
    "30 % of samples dropped",
    "readings 100 ms later",
    "readings 100 ms earlier",
    "no lag estimate",
    "six seconds of it",
    "no host CPU",
    "no thread data",
    "no on-CPU flag",
)


@pytest.mark.parametrize("ablation", STILL_RIGHT)
def test_verdict_survives(ablation: str) -> None:
    assert {name: verdict for name, (verdict, kind) in outcomes(ablation).items() if kind != "right"} == {}


@pytest.mark.parametrize("ablation", [name for name in ABLATIONS if name not in STILL_RIGHT])
def test_verdict_gets_coarser_but_not_wrong(ablation: str) -> None:
    wrong = {name: verdict for name, (verdict, kind) in outcomes(ablation).items() if kind == "wrong"}
    assert len(wrong) <= MAY_BE_WRONG, wrong


def test_the_document_shows_these_figures() -> None:
    assert ablation_table() in DOCUMENT.read_text(), "run python -m tests.analysis.accuracy"
