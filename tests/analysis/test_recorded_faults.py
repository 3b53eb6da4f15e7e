"""Faults made on purpose on an H200 (tests/gpu/faults.py, image_rounds.py), recorded there and kept here."""

from __future__ import annotations

from pathlib import Path

import pytest

from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.cli.windows import window_of_recording

RECORDINGS = Path(__file__).parents[1] / "recordings"


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("d2h-copy", "d2h_copy"),
        ("oversubscribed", "cpu_oversubscribed"),
        ("cpu-quota", "cpu_quota"),
        ("image-1", "cpu_preprocess"),
        ("image-2", "launch_bound"),
    ],
)
def test_a_fault_made_on_purpose_is_named(name: str, cause: str) -> None:
    verdict = diagnose(window_of_recording(RECORDINGS / name))
    assert verdict.verdict == cause
    assert sum(row.share for row in verdict.ledger) == pytest.approx(1.0)
