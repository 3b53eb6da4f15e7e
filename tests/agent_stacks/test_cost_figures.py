"""The arithmetic behind the published slowdown: known slowdowns come out, and the interval holds them."""

from __future__ import annotations

import random

import pytest

from tests.gpu.stack_cost import slowdown


def test_a_known_slowdown_comes_out_whatever_the_speed_of_the_windows() -> None:
    found = slowdown([(0.98 * speed, speed) for speed in (100.0, 250.0, 7.0)])
    assert found["slowdown_percent"] == pytest.approx(2.0)
    assert found["upper_percent"] == pytest.approx(2.0)


def test_noise_widens_the_interval_around_the_truth_and_empty_windows_are_left_out() -> None:
    noise = random.Random(4)
    pairs = [(0.97 * 100 * noise.lognormvariate(0, 0.05), 100 * noise.lognormvariate(0, 0.05)) for _ in range(400)]
    found = slowdown([*pairs, (0.0, 100.0)])
    assert found["pairs"] == 400
    assert found["lower_percent"] < 3.0 < found["upper_percent"]
    assert found["upper_percent"] - found["lower_percent"] < 2.5
