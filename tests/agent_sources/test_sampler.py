"""Running sources: states, deadlines, back-off and cost; lanes that do not stop each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest

from gapscope_agent.errors import SourceUnavailableError
from gapscope_agent.reading import Cpu, Reading, SourceState
from gapscope_agent.sampler import Sampler
from gapscope_agent.schedule import NS
from gapscope_agent.source_runner import SourceRunner
from gapscope_agent.sources import SOURCES, build_sources
from gapscope_agent.sources.base import Context, Source
from tests.agent_sources.fakes import FakeClock

MS = NS // 1000


class Scripted(Source):
    """Does what the test says at each call."""

    name = "scripted"
    lane = "host"
    period_seconds = 0.1
    deadline_seconds = 0.5

    def __init__(self, act: Callable[[], None] = lambda: None) -> None:
        super().__init__(Context())
        self.act = act
        self.opened = self.closed = 0

    def open(self) -> None:
        self.opened += 1

    def sample(self, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        self.act()
        return [Cpu(t=now_ns, mono=mono_ns, jiffies=[])]

    def close(self) -> None:
        self.closed += 1


class Slow(Scripted):
    name = "slow"
    lane = "gpu"


def states(readings: list[Reading]) -> list[tuple[str, str]]:
    return [(r.source, r.state) for r in readings if isinstance(r, SourceState)]


def runner_of(source: Source, clock: FakeClock) -> tuple[SourceRunner, list[Reading]]:
    readings: list[Reading] = []
    return SourceRunner(source, readings.append, clock, clock.mono), readings


def test_the_sources_are_complete_and_named_once() -> None:
    names = [source.name for source in SOURCES]
    assert len(set(names)) == len(names)
    assert set(names) == {
        "gpu",
        "gpu_power_buffer",
        "gpu_utilization_buffer",
        "gpu_processes",
        "gpu_link",
        "gpu_violation",
        "gpu_events",
        "gpu_health",
        "cpu",
        "host",
        "processes",
    }
    assert [type(source) for source in build_sources(Context())] == list(SOURCES)
    lanes = {source.name: source.lane for source in SOURCES}
    assert lanes["gpu"] not in {lanes["cpu"], lanes["processes"], lanes["gpu_processes"]}
    assert all(source.phase_seconds < source.period_seconds for source in SOURCES)


def test_readings_carry_the_tick_and_the_first_state_is_told(clock: FakeClock) -> None:
    runner, readings = runner_of(Scripted(), clock)
    runner.tick()
    runner.tick()
    assert states(readings) == [("scripted", "ok")]
    (cpu,) = [reading for reading in readings if isinstance(reading, Cpu)]
    assert (cpu.t, cpu.mono) == (clock.wall, clock.mono)


def test_a_failing_source_backs_off_and_recovers(clock: FakeClock) -> None:
    broken = [True]

    def act() -> None:
        if broken[0]:
            raise SourceUnavailableError("No driver.")

    source = Scripted(act)
    runner, readings = runner_of(source, clock)
    for _ in range(40):
        runner.tick()
        clock.advance(0.1)
    assert source.opened == 3
    broken[0] = False
    for _ in range(40):
        runner.tick()
        clock.advance(0.1)
    assert states(readings) == [("scripted", "unavailable"), ("scripted", "ok")]
    assert isinstance(readings[0], SourceState)
    assert readings[0].reason == "No driver."
    cost = runner.cost()
    assert (cost.errors, cost.state, cost.skipped) == (3, "ok", 0)


def test_a_bug_in_a_source_is_counted_logged_and_named(clock: FakeClock, caplog: pytest.LogCaptureFixture) -> None:
    def act() -> None:
        raise ZeroDivisionError("oops")

    runner, readings = runner_of(Scripted(act), clock)
    runner.tick()
    assert states(readings) == [("scripted", "unavailable")]
    assert runner.cost().reason == "ZeroDivisionError: oops"
    assert "source scripted failed" in caplog.text


def test_a_call_past_its_deadline_is_late_while_it_hangs(clock: FakeClock) -> None:
    seen: list[list[tuple[str, str]]] = []
    readings: list[Reading]

    def hang() -> None:
        clock.advance(0.4)
        runner.check_deadline()
        clock.advance(0.4)
        runner.check_deadline()
        runner.check_deadline()
        seen.append(states(readings))

    runner, readings = runner_of(Scripted(hang), clock)
    runner.tick()
    assert seen == [[("scripted", "late")]]
    assert states(readings) == [("scripted", "late"), ("scripted", "ok")]
    assert isinstance(readings[0], SourceState)
    assert readings[0].reason == "No answer for 0.8 s; the limit is 0.5 s."
    runner.check_deadline()
    assert runner.cost().late == 1
    runner.tick()
    assert runner.cost().skipped == 7


def test_cost_counts_calls_time_and_period(clock: FakeClock) -> None:
    runner, _ = runner_of(Scripted(lambda: clock.advance(0.01)), clock)
    for _ in range(10):
        runner.tick()
        clock.advance(0.09)
    cost = runner.cost()
    assert cost.calls == 10
    assert cost.wall_ns == 100 * MS
    assert cost.cpu_ns == 10 * MS
    assert cost.achieved_period_seconds == pytest.approx(0.1)


def test_a_source_may_move_its_ticks(clock: FakeClock) -> None:
    source = Scripted()
    runner, _ = runner_of(source, clock)
    source.shift_seconds = 0.03
    due = runner.grid.due_ns
    runner.tick()
    assert runner.grid.due_ns - due == 130 * MS
    assert source.shift_seconds == 0.0


def test_who_receives_a_reading_may_ask_for_the_costs(clock: FakeClock) -> None:
    seen: list[int] = []
    runner = SourceRunner(Scripted(), lambda _: seen.append(runner.cost().calls), clock, clock.mono)
    runner.tick()
    assert seen == [1, 1]


def test_a_hung_lane_does_not_stop_the_other_and_is_reported() -> None:
    release, late, enough = threading.Event(), threading.Event(), threading.Event()
    cpu_after_late: list[Reading] = []

    def receive(reading: Reading) -> None:
        if isinstance(reading, SourceState) and (reading.source, reading.state) == ("slow", "late"):
            late.set()
        elif isinstance(reading, Cpu) and late.is_set():
            cpu_after_late.append(reading)
            if len(cpu_after_late) == 3:
                enough.set()

    def hang() -> None:
        release.wait(30)

    slow, quick = Slow(hang), Scripted()
    sampler = Sampler([slow, quick], receive)
    sampler.start()
    assert late.wait(10)
    assert enough.wait(10)
    assert not sampler.stop(timeout_seconds=0.01)
    release.set()
    assert sampler.stop(timeout_seconds=10)
    assert (slow.closed, quick.closed) == (1, 1)
    assert {cost.name: cost.late for cost in sampler.costs()} == {"slow": 1, "scripted": 0}


def test_a_receiver_that_fails_does_not_end_the_sampling(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[Reading] = []
    enough = threading.Event()

    def receive(reading: Reading) -> None:
        calls.append(reading)
        if len(calls) >= 4:
            enough.set()
        raise OSError("disk full")

    sampler = Sampler([Scripted()], receive)
    sampler.start()
    assert enough.wait(10)
    assert sampler.stop()
    assert "could not be handed on" in caplog.text


def test_a_sampler_is_started_once() -> None:
    sampler = Sampler([Scripted()], lambda _: None)
    sampler.start()
    with pytest.raises(RuntimeError, match="make a new one"):
        sampler.start()
    assert sampler.stop()
