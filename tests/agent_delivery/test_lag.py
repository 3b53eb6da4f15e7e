"""The lag of the hardware counters: found where there is contrast, not invented where there is none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from gapscope_agent.derive.lag import LagEstimator
from gapscope_agent.reading import Gpu

MS = 1_000_000
START = 1_800_000_000_000 * MS
Load = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]


def random_load(seconds: int, seed: int, flat: bool = False) -> npt.NDArray[np.float64]:
    """Load in 1 ms steps: bursts of random length."""
    chance = np.random.default_rng(seed)
    load = np.zeros(seconds * 1000)
    at = 0
    while at < load.size:
        length = int(chance.integers(60, 900))
        load[at : at + length] = 0.8 if flat else chance.random()
        at += length
    return load


def run(
    estimator: LagEstimator, load: npt.NDArray[np.float64], lag_ms: int, power: bool, utilization: bool
) -> list[float]:
    """Feed what a GPU with this load and lag would answer; estimates in seconds."""
    area = np.concatenate(([0.0], np.cumsum(load)))

    def mean(end_ms: int, width_ms: int) -> float:
        return float(area[end_ms] - area[end_ms - width_ms]) / width_ms

    noise = np.random.default_rng(0)
    found = []
    for ms in range(1000, load.size, 100):
        t = START + ms * MS
        busy = 100 * mean(ms - lag_ms, 100)
        gpm = {"graphics_util_pct": busy, "sm_util_pct": busy * 0.8, "dram_bandwidth_util_pct": busy * 0.3}
        estimator.add_counters(Gpu(t=t, gpu=0, gpm=dict(gpm)))
        if ms % 1000:
            continue
        if power:
            ends = range(ms - 1000 + 20, ms + 1, 20)
            watts = [(START + e * MS, 120 + 500 * mean(e, 20) + float(noise.normal(0, 8))) for e in ends]
            estimator.add_power(watts)
        if utilization:
            estimator.add_utilization((START + e * MS, mean(e, 200)) for e in range(ms - 800, ms + 1, 200))
        estimate = estimator.estimate(t)
        if estimate is not None:
            found.append(estimate)
    return found


@pytest.mark.parametrize("lag_ms", [50, 90, 120])
@pytest.mark.parametrize(("power", "utilization"), [(True, True), (True, False), (False, True)])
def test_the_lag_is_found_from_either_buffer(lag_ms: int, power: bool, utilization: bool) -> None:
    found = run(LagEstimator(), random_load(40, seed=1), lag_ms, power, utilization)
    assert len(found) >= 4
    assert found == pytest.approx([lag_ms / 1e3] * len(found), abs=0.0101)


def test_a_flat_load_gives_no_estimate() -> None:
    assert run(LagEstimator(), random_load(30, seed=2, flat=True), 90, power=True, utilization=True) == []


def test_an_estimate_is_carried_through_a_flat_stretch() -> None:
    estimator = LagEstimator()
    load = np.concatenate([random_load(20, seed=3), np.full(20_000, 0.8)])
    found = run(estimator, load, 70, power=True, utilization=True)
    assert len(found) >= 6
    assert found == pytest.approx([0.07] * len(found), abs=0.0101)


def test_buffers_that_never_come_cost_bounded_memory() -> None:
    estimator = LagEstimator()
    for step in range(5000):
        gpm: dict[str, float | None] = dict.fromkeys(
            ("graphics_util_pct", "sm_util_pct", "dram_bandwidth_util_pct"), 1.0
        )
        estimator.add_counters(Gpu(t=START + step * 100 * MS, gpu=0, gpm=gpm))
        assert estimator.estimate(START + step * 100 * MS) is None
    assert len(estimator._cells) <= 600
