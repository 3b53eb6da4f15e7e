"""Mixtures of recordings: each part gets its share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Window
from tests.analysis.ablations import rename_application
from tests.analysis.splices import after_each_other, beside_each_other, cut, diluted

pytestmark = pytest.mark.cases
Recorded = Callable[[str], Window]
SECONDS = 8
WITHIN = 0.1
AFTER = [
    ("image-service-pil", "gemm-bf16"),
    ("checkpoints", "train-two-workers"),
    ("copy-pageable", "decode-matrix-vector"),
    ("decode-small-eager", "gemm-fp32"),
    ("train-no-workers", "tiny-kernels"),
    ("gil-threads", "image-service-batch-1"),
    ("empty-cache", "remote-reads"),
    ("no-traffic", "item-each-step"),
    ("image-service-batch-window", "copy-pinned"),
    ("two-tenants", "image-service-pil"),
]
BESIDE = [
    ("image-service-pil", "copy-pinned"),
    ("train-two-workers", "remote-reads"),
    ("gemm-bf16", "no-traffic"),
    ("decode-matrix-vector", "gil-threads"),
]


def _shares(verdict: Verdict) -> dict[str, float]:
    return {row.cause: row.share for row in verdict.ledger}


def _off(verdict: Verdict, *parts: Window) -> dict[str, float]:
    """Causes whose share is not the mean of what the parts show alone."""
    alone = [_shares(diagnose(part)) for part in parts]
    mixed = _shares(verdict)
    causes = set(mixed).union(*alone)
    due = {cause: sum(part.get(cause, 0.0) for part in alone) / len(alone) for cause in causes}
    return {c: mixed.get(c, 0.0) - due[c] for c in causes if abs(mixed.get(c, 0.0) - due[c]) > WITHIN}


def _first(window: Window) -> Window:
    return cut(window, window.start_ns, window.start_ns + SECONDS * 10**9)


@pytest.mark.parametrize(("one", "other"), AFTER)
def test_one_after_the_other(one: str, other: str, recorded: Recorded) -> None:
    first, second = recorded(one), recorded(other)
    verdict = diagnose(after_each_other(first, second, SECONDS))
    assert sum(row.share for row in verdict.ledger) == pytest.approx(1.0)
    assert _off(verdict, _first(first), _first(second)) == {}


@pytest.mark.parametrize(("one", "other"), BESIDE)
def test_one_beside_the_other(one: str, other: str, recorded: Recorded) -> None:
    first, second = recorded(one), recorded(other)
    verdict = diagnose(beside_each_other(first, second, SECONDS))
    assert _off(verdict, _first(first), _first(second)) == {}
    assert [gpu.verdict for gpu in verdict.gpus] == [diagnose(_first(w)).verdict for w in (first, second)]
    assert [job.verdict for job in verdict.jobs] == [gpu.verdict for gpu in verdict.gpus]


@pytest.mark.parametrize("share", [0.95, 0.6, 0.3])
@pytest.mark.parametrize(
    "name",
    [
        "image-service-pil",
        "train-two-workers",
        "train-no-workers",
        "gil-threads",
        "copy-pinned",
        "checkpoints",
        "empty-cache",
        "image-service-batch-window",
    ],
)
def test_the_cause_keeps_its_name_among_healthy_work(name: str, share: float, recorded: Recorded) -> None:
    """``share`` of each 100 ms as recorded, the rest full matrix products, names hashed."""
    window, healthy = recorded(name), recorded("gemm-bf16")
    verdict = diagnose(rename_application(diluted(window, healthy, share)))
    whole = diagnose(window)
    assert verdict.verdict == whole.verdict
    expected = share * _shares(whole)[whole.verdict]
    assert _shares(verdict)[verdict.verdict] == pytest.approx(expected, abs=WITHIN)
