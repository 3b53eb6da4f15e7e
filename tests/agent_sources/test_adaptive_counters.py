"""Seconds without change cost one piece of arithmetic, all others ten; nothing that was held back is lost."""

from __future__ import annotations

import pytest

from gapscope_agent.errors import DriverLostError
from gapscope_agent.nvml import failure
from gapscope_agent.nvml.driver import Driver
from gapscope_agent.reading import Gpu
from gapscope_agent.sources.base import Context
from gapscope_agent.sources.gpu import HOLD_TICKS, REOPENED, GpuFigures
from tests.agent_sources.fakes import FakeNvml

T = 1_700_000_000_000_000_000
TICK = 100_000_000


class Machine:
    """A source over a scripted driver. A pair of snapshots answers the sum of what was active between them."""

    def __init__(self, nvml: FakeNvml) -> None:
        self.nvml, self.ticks, self.total = nvml, 0, 0.0
        self.source = GpuFigures(Context(driver=Driver(nvml)))
        self.source.open()
        self.run(0.0)
        self.rest()
        self._before = self._calls()

    def run(self, *percents: float, watts: float = 127.0) -> list[Gpu]:
        readings: list[Gpu] = []
        for percent in percents:
            self.total += percent
            self.nvml.counters = {
                self.nvml.NVML_GPM_METRIC_GRAPHICS_UTIL: self.total,
                self.nvml.NVML_GPM_METRIC_PCIE_RX_PER_SEC: float(self.ticks),
            }
            self.nvml.answers["nvmlDeviceGetPowerUsage"] = int(watts * 1000)
            span = self.ticks * TICK
            readings += [r for r in self.source.sample(T + span, span) if isinstance(r, Gpu)]
            self.ticks += 1
        return readings

    def rest(self) -> list[Gpu]:
        return [r for r in self.source.rest(self.ticks * TICK) if isinstance(r, Gpu)]

    def arithmetic(self) -> int:
        return self._calls() - self._before

    def _calls(self) -> int:
        return self.nvml.calls.get("nvmlGpmMetricsGet", 0)


@pytest.fixture
def machine() -> Machine:
    return Machine(FakeNvml())


def actives(readings: list[Gpu]) -> list[float | None]:
    return [reading.gpm["graphics_util_pct"] if reading.gpm else None for reading in readings]


def test_a_second_of_idling_takes_one_piece_of_arithmetic(machine: Machine) -> None:
    assert machine.run(*[0.0] * (HOLD_TICKS - 1)) == []
    readings = machine.run(0.0)
    assert actives(readings) == [0.0] * HOLD_TICKS
    assert machine.arithmetic() == 1
    assert [reading.t for reading in readings] == [T + (1 + n) * TICK for n in range(HOLD_TICKS)]
    assert {reading.gpm_span_ns for reading in readings} == {HOLD_TICKS * TICK}


def test_a_burst_inside_an_idle_second_is_seen(machine: Machine) -> None:
    percents = [0.0, 0.0, 80.0, *[0.0] * 7]
    readings = machine.run(*percents)
    assert actives(readings) == percents
    assert {reading.gpm_span_ns for reading in readings} == {TICK}


def test_a_change_of_power_keeps_the_detail(machine: Machine) -> None:
    readings = machine.run(*[0.0] * 5) + machine.run(*[0.0] * 5, watts=300.0)
    assert len(readings) == HOLD_TICKS
    assert machine.arithmetic() == HOLD_TICKS


def test_attention_releases_what_is_held_and_holds_nothing_more(machine: Machine) -> None:
    machine.run(0.0, 0.0)
    machine.source.context.attention.set()
    assert len(machine.run(0.0)) == 3
    assert len(machine.run(0.0)) == 1


def test_what_is_held_comes_out_at_the_end(machine: Machine) -> None:
    machine.run(0.0, 50.0, 0.0)
    assert actives(machine.rest()) == [0.0, 50.0, 0.0]


def test_a_lost_driver_loses_no_reading(machine: Machine) -> None:
    machine.run(0.0, 0.0)
    machine.nvml.errors["nvmlDeviceGetPowerUsage"] = failure.UNINITIALIZED
    with pytest.raises(DriverLostError):
        machine.run(0.0)
    machine.nvml.errors.clear()
    machine.source.open()
    readings = machine.run(*[0.0] * HOLD_TICKS)
    held = [reading for reading in readings if reading.missing.get("gpm") == REOPENED]
    assert [reading.t for reading in held] == [T + TICK, T + 2 * TICK]
    assert len(readings) == HOLD_TICKS + 2
