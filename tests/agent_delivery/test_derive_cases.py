"""The deriver on the recordings of real GPUs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gapscope_agent import wire
from gapscope_agent.accounting import Ledger
from gapscope_agent.batch import BatchBuilder
from gapscope_agent.catalog import BY_NAME
from gapscope_agent.derive import Derived, Deriver
from gapscope_agent.recording.read import open_recording

CASES = Path(__file__).parents[3] / "shared" / "cases"


def case_folders() -> list[Path]:
    return sorted(path.parent for path in CASES.glob("*/recording.json"))


pytestmark = [
    pytest.mark.cases,
    pytest.mark.skipif(not case_folders(), reason="the folder of recorded cases is not beside the project"),
]


def derive(folder: Path) -> list[Derived]:
    """Drained each 5 s, as the agent does."""
    recording = open_recording(folder)
    deriver, drained, due = Deriver(recording.origin), [], 0
    for reading in recording.readings():
        due = due or reading.t + 5_000_000_000
        if reading.t >= due:
            drained.append(deriver.drain())
            due += 5_000_000_000
        deriver.feed(reading)
    return [*drained, deriver.drain()]


@pytest.mark.parametrize("folder", case_folders(), ids=lambda folder: folder.name)
def test_every_recording_gives_whole_series_in_range_and_batches_that_pass_the_door(folder: Path) -> None:
    drained = derive(folder)
    ledger = Ledger()
    builder = BatchBuilder("one", {}, ledger, recorded=True)
    lags: list[float] = []
    for part in drained:
        for batch in builder.close(part, 1):
            for group in wire.decode_groups(wire.decode_batch(wire.encode(batch))):
                for name, values in group.values.items():
                    check_range(name, values)
                lags += group.values.get("gpu_counter_lag_seconds", np.array([])).tolist()
    assert all(0.04 <= lag <= 0.17 for lag in lags)
    first = {name for group in drained[1].groups for name in group.values}
    assert {"gpu_graphics_active_ratio", "gpu_power_fine_watts", "cpu_core_busy_ratio", "process_cpu_cores"} <= first
    assert ledger.sampled == sum(g.times.size * len(g.values) for part in drained for g in part.groups)


def check_range(name: str, values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    good = values[~np.isnan(values)]
    assert (good >= 0).all(), name
    if BY_NAME[name].kind == "ratio" and not name.startswith("process_gpu"):
        assert (good <= 1.0001).all(), name
    if name.endswith("_cores"):
        assert (good <= 40).all(), name


def missing_share(drained: list[Derived], metric: str) -> float:
    values = np.concatenate([g.values[metric] for part in drained for g in part.groups if metric in g.values])
    return float(np.isnan(values).mean())


def test_hardly_anything_is_missing_in_a_good_recording() -> None:
    drained = derive(next(folder for folder in case_folders() if folder.name == "train-two-workers"))
    for metric in ("gpu_graphics_active_ratio", "cpu_core_busy_ratio", "process_cpu_cores", "gpu_power_fine_watts"):
        assert missing_share(drained, metric) < 0.02, metric


@pytest.mark.parametrize(
    ("case", "seconds"),
    [
        ("bursts", 0.12),
        ("checkpoints", 0.06),
        ("image-service-batch-1", 0.1),
        ("train-no-workers", 0.05),
        ("train-two-workers", 0.08),
    ],
)
def test_the_lag_is_stable_over_a_recording_with_contrast(case: str, seconds: float) -> None:
    drained = derive(next(folder for folder in case_folders() if folder.name == case))
    groups = [g for part in drained for g in part.groups if "gpu_counter_lag_seconds" in g.values]
    lags = [lag for group in groups for lag in group.values["gpu_counter_lag_seconds"].tolist()]
    assert len(lags) >= 3
    assert lags == pytest.approx([seconds] * len(lags), abs=0.0101)
