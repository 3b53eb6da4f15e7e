"""Verdicts on recordings of real GPUs whose bottleneck is known, as recorded and with data taken away."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.frames import FrameKind, frame_kind
from gapscope_backend.analysis.window import Frame, Series, StackSamples, Window

pytestmark = pytest.mark.cases
COARSE = {"host_side", "gpu_side", "transfer", "unknown", "not_measured"}


def _sums(window: Window) -> str:
    verdict = diagnose(window)
    assert sum(row.gpu_seconds for row in verdict.ledger) == pytest.approx(window.seconds * len(window.gpus))
    assert sum(row.share for row in verdict.ledger) == pytest.approx(1.0)
    for gpu in verdict.gpus:
        assert sum(row.gpu_seconds for row in gpu.ledger) == pytest.approx(window.seconds)
    return verdict.verdict


def test_recording_gets_its_exact_cause(case: Any) -> None:
    assert _sums(case.window) == case.accept[0]


def _stacks(window: Window) -> StackSamples:
    assert window.stacks is not None
    return window.stacks


def _hashed(text: str) -> str:
    return "n" + hashlib.sha256(text.encode()).hexdigest()[:10]


def _rename_application(window: Window) -> Window:
    stacks = _stacks(window)
    frames = tuple(
        Frame(_hashed(f.function), _hashed(f.file) + ".py", f.line) if frame_kind(f) is FrameKind.APP else f
        for f in stacks.frames
    )
    processes = tuple(replace(p, command=_hashed(p.command)) for p in window.processes)
    return replace(window, stacks=replace(stacks, frames=frames, thread_names={}), processes=processes)


def test_application_names_and_source_do_not_matter(case: Any) -> None:
    assert diagnose(_rename_application(case.window)).verdict in case.accept


def _without(window: Window, pattern: Callable[[str, str], bool]) -> Window:
    return replace(window, series={key: s for key, s in window.series.items() if not pattern(*key)})


def _thin_stacks(window: Window) -> Window:
    stacks = _stacks(window)
    keep = np.isin(stacks.times, np.unique(stacks.times)[::10])
    columns = {name: getattr(stacks, name)[keep] for name in ("times", "pids", "tids", "active", "owns_gil", "stack")}
    return replace(window, stacks=replace(stacks, **columns))


def _second(series: Series) -> Series:
    if series.times.size < 3 or float(np.median(np.diff(series.times))) > 0.9e9:
        return series
    bucket = series.times // 1_000_000_000
    _, first, inverse = np.unique(bucket, return_index=True, return_inverse=True)
    last = np.append(first[1:], series.times.size) - 1
    good = ~np.isnan(series.values)
    count = np.bincount(inverse[good], minlength=first.size)
    total = np.bincount(inverse[good], series.values[good], first.size)
    return Series(series.times[last], np.where(count > 0, total / np.maximum(count, 1), np.nan))


def _holes(window: Window) -> Window:
    random = np.random.default_rng(7)
    return replace(
        window,
        series={
            key: Series(s.times, np.where(random.random(s.times.size) < 0.3, np.nan, s.values))
            for key, s in window.series.items()
        },
    )


def _is_counter(_: str, metric: str) -> bool:
    return metric.endswith(("_active_ratio", "_occupancy_ratio")) or metric.startswith("pcie_")


def _part(window: Window) -> Window:
    return replace(window, start_ns=window.start_ns + 3 * 10**9, end_ns=window.start_ns + 9 * 10**9)


SAME_VERDICT: dict[str, Callable[[Window], Window]] = {
    "a tenth of the stacks": _thin_stacks,
    "1 Hz": lambda w: replace(w, series={key: _second(s) for key, s in w.series.items()}),
    "30 % of the values missing": _holes,
    "no host CPU": lambda w: _without(w, lambda entity, _: entity == "host" or entity.startswith("core:")),
    "no lag": lambda w: replace(w, gpus=tuple(replace(g, counter_lag_ns=0) for g in w.gpus)),
    "six seconds of it": _part,
}


@pytest.mark.parametrize("change", SAME_VERDICT)
def test_verdict_survives_thinner_data(case: Any, change: str) -> None:
    assert _sums(SAME_VERDICT[change](case.window)) in case.accept


COARSER: dict[str, Callable[[Window], Window]] = {
    "no stacks": lambda w: replace(w, stacks=None),
    "no lock owner": lambda w: replace(w, stacks=replace(_stacks(w), owns_gil=np.full_like(_stacks(w).owns_gil, -1))),
    "neither lock owner nor on-CPU flag": lambda w: replace(
        w,
        stacks=replace(
            _stacks(w), owns_gil=np.full_like(_stacks(w).owns_gil, -1), active=np.full_like(_stacks(w).active, -1)
        ),
    ),
    "no hardware counters": lambda w: _without(w, _is_counter),
}


@pytest.mark.parametrize("change", COARSER)
def test_verdict_gets_coarser_but_not_wrong(case: Any, change: str) -> None:
    assert _sums(COARSER[change](case.window)) in {*case.accept, *COARSE}


def test_nothing_at_all_is_not_measured(case: Any) -> None:
    assert _sums(replace(case.window, series={}, stacks=None)) == "not_measured"
