"""When stacks are taken: modes, drops and requests, by a clock that only moves when told."""

from __future__ import annotations

import pytest

from gapscope_agent.sources.drop_watch import DropWatch
from gapscope_agent.stacks.plan import SAVED_BURSTS, Activity, Mode, Plan

NS = 1_000_000_000


def plan(mode: Mode) -> Plan:
    return Plan(mode, burst_seconds=10, again_seconds=60)


def run(plan: Plan, begin: float, end: float, *, dropped: bool) -> list[float]:
    """Seconds, in steps of 0.1, at which there is a burst."""
    tenths = range(round(begin * 10), round(end * 10))
    return [tenth / 10 for tenth in tenths if plan.now(tenth * NS // 10, dropped) is Activity.BURST]


def test_off_takes_nothing_even_when_asked() -> None:
    off = plan(Mode.OFF)
    off.ask(0, 30)
    assert run(off, 0, 30, dropped=True) == []
    assert off.now(0, False) is Activity.NOTHING


def test_a_drop_is_covered_from_its_first_moment_for_ten_seconds_and_again_after_a_minute() -> None:
    on_drop = plan(Mode.ON_DROP)
    assert run(on_drop, 0, 5, dropped=False) == []
    burst = run(on_drop, 5, 64, dropped=True)
    assert (burst[0], burst[-1], len(burst)) == (5.0, 14.9, 100)
    assert run(on_drop, 64, 66, dropped=True)[0] == 65.0


def test_a_new_drop_during_a_burst_is_covered_whole() -> None:
    on_drop = plan(Mode.ON_DROP)
    on_drop.now(0, True)
    on_drop.now(4 * NS, False)
    burst = run(on_drop, 5, 40, dropped=True)
    assert burst[-1] == 14.9


def test_what_dips_all_the_time_is_not_watched_all_the_time() -> None:
    on_drop = plan(Mode.ON_DROP)
    bursts = sum(on_drop.now(second * NS, second % 2 == 0) is Activity.BURST for second in range(3600))
    assert bursts <= SAVED_BURSTS * 10 + 3600 / 6 + 20
    assert bursts > 500


def test_a_request_counts_until_it_runs_out() -> None:
    on_drop = plan(Mode.ON_DROP)
    on_drop.ask(2 * NS, 3)
    assert run(on_drop, 2, 10, dropped=False) == [tenth / 10 for tenth in range(20, 50)]


def test_continuous_traces_between_bursts() -> None:
    continuous = plan(Mode.CONTINUOUS)
    assert continuous.now(0, False) is Activity.TRACE
    assert continuous.now(1, True) is Activity.BURST
    assert continuous.now(11 * NS, True) is Activity.TRACE


def feed(watch: DropWatch, begin: float, end: float, ratio: float | None, figure: str = "utilization") -> float | None:
    """Ten looks a second; the first second at which a drop is seen."""
    for tenth in range(round(begin * 10), round(end * 10)):
        watch.look(0, figure, tenth * NS // 10, ratio)
        if watch.dropped(tenth * NS // 10):
            return tenth / 10
    return None


def test_a_gpu_that_loses_half_of_what_it_did_is_in_a_drop_within_a_second() -> None:
    watch = DropWatch()
    assert feed(watch, 0, 30, 0.95) is None
    seen = feed(watch, 30, 40, 0.0)
    assert seen is not None
    assert seen <= 30.5
    feed(watch, 40, 50, 0.95)
    assert watch.dropped(50 * NS) == frozenset()


def test_short_dips_are_no_drop() -> None:
    watch = DropWatch()
    for second in range(30):
        assert feed(watch, second, second + 0.8, 0.9) is None
        assert feed(watch, second + 0.8, second + 1, 0.2) is None


def test_a_gpu_that_nobody_uses_is_in_no_drop() -> None:
    assert feed(DropWatch(), 0, 120, 0.0) is None


def test_a_gpu_in_use_that_does_little_is_in_a_drop_whatever_it_did_before() -> None:
    seen = feed(DropWatch(), 0, 30, 0.1)
    assert seen == pytest.approx(5.0, abs=0.2)


def test_a_copy_hides_nothing_from_the_counter() -> None:
    watch = DropWatch()
    for figure in ("utilization", "graphics"):
        assert feed(watch, 0, 30, 1.0, figure) is None
    assert feed(watch, 30, 33, 1.0, "utilization") is None
    assert feed(watch, 30, 33, 0.05, "graphics") is not None


def test_a_driver_that_tells_nothing_makes_no_drop_and_old_looks_are_forgotten() -> None:
    watch = DropWatch()
    feed(watch, 0, 30, 0.95)
    assert feed(watch, 30, 60, None) is None
    feed(watch, 60, 62, 0.0)
    assert watch.dropped(62 * NS) == {0}
    assert watch.dropped(80 * NS) == frozenset()
