"""Acceptance in time, every other kind of rule: what is pushed, and between which seconds which messages are wanted.

Each case runs with a new watch and a new evaluator every seven seconds; in `make soak` steadily and at every second.
Batches arrive every 5 s.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gapscope_agent.wire import Event
from gapscope_backend.store.database import Database
from tests.alerts.stage import (
    RESTARTS,
    Figures,
    Stage,
    arriving,
    constant,
    go_on,
    held_up,
    pause,
    set_clock,
    steps,
    without,
)
from tests.backend.batches import SECOND
from tests.incidents.story import START, Story, batches, gpu_key

Make = Callable[..., Stage]
MEMORY = (
    '[rules.memory]\nkind = "memory_near_full"\nshare = 0.95\nclear_share = 0.9\nfor = "20s"\nclear_for = "10s"\n'
    'warm_up = "0s"\n'
)
SILENT = '[rules.silent]\nkind = "agent_silent"\nfor = "30s"\nwarm_up = "0s"\n'
ALIVE = {"gpu_power_watts": constant(300.0), "gpu_utilization_ratio": constant(0.5)}


@pytest.fixture(params=RESTARTS)
def make(database: Database, request: pytest.FixtureRequest) -> Make:
    def new(rules: str, cause: str = "cpu_preprocess", **more: object) -> Stage:
        return Stage(database, rules, Story(cause), restarts=request.param, begin=0, **more)  # type: ignore[arg-type]

    return new


def used(*parts: tuple[float, float | None]) -> dict[str, Callable[[float], float | None]]:
    """Gigabytes of 100 in use, until each second."""
    shares = steps(*((until, None if told is None else told * 1e9) for until, told in parts))
    return {"gpu_memory_used_bytes": shares, "gpu_power_watts": constant(300.0)}


async def test_memory_fires_and_clears_with_hysteresis(make: Make) -> None:
    """92 % is no longer too much and not yet good."""
    stage = make(MEMORY)
    await stage.play(arriving(Figures().batches(130, used((20, 50), (60, 97), (90, 92), (130, 50)))), 130)
    stage.want(("firing", 40, 52), ("resolved", 100, 125))
    assert stage.told[0].message.alerts[0].value == pytest.approx(0.97, abs=0.01)


async def test_memory_that_is_full_for_a_moment_fires_nothing(make: Make) -> None:
    stage = make(MEMORY)
    await stage.play(arriving(Figures().batches(80, used((20, 50), (35, 97), (80, 50)))), 80)
    stage.want()
    assert await stage.alerts() == []


async def test_memory_that_is_not_told_keeps_its_alert(make: Make) -> None:
    stage = make(MEMORY)
    seen: list[object] = []

    async def look(stage: Stage) -> None:
        seen.extend((alert.state, alert.no_data_since_ns is not None) for alert in await stage.alerts())

    figures = Figures().batches(160, used((10, 50), (50, 97), (120, None), (160, 50)))
    await stage.play(arriving(figures), 160, {115: look})
    stage.want(("firing", 30, 45), ("resolved", 130, 158))
    assert seen == [("firing", True)]


async def test_memory_that_filled_while_nobody_looked_is_found_in_the_store(make: Make) -> None:
    stage = make(MEMORY)
    figures = Figures().batches(170, used((20, 50), (110, 97), (170, 50)))
    await stage.play(arriving(figures), 170, {15: pause, 160: go_on})
    (alert,) = await stage.alerts()
    assert alert.state == "resolved"
    assert alert.firing_ns is not None
    assert 15 <= (alert.began_ns - START) / SECOND <= 35


async def test_the_same_data_late_and_in_bulk_fires_no_more(make: Make) -> None:
    stage = make(MEMORY)
    figures = Figures().batches(130, used((20, 50), (60, 97), (130, 50)))
    await stage.play(held_up(arriving(figures), 70, 110), 130)
    stage.want(("firing", 40, 52), ("resolved", 110, 125))


async def test_a_silent_agent_fires_and_its_return_resolves(make: Make) -> None:
    stage = make(SILENT)
    arrivals = without(arriving(Figures().batches(140, ALIVE)), 40, 110)
    await stage.play(arrivals, 140)
    stage.want(("firing", 71, 80), ("resolved", 115, 122))
    assert stage.told[0].message.subjects == []
    assert stage.told[0].message.host == "node-1"


async def test_two_late_batches_are_no_silence(make: Make) -> None:
    stage = make(SILENT)
    await stage.play(held_up(arriving(Figures().batches(100, ALIVE)), 30, 55), 100)
    stage.want()


async def test_a_recording_that_ends_is_no_silence(make: Make) -> None:
    stage = make(SILENT)
    figures = Figures().batches(40, ALIVE)
    for batch in figures:
        batch.recorded = True
    await stage.play(arriving(figures), 110)
    stage.want()


@pytest.mark.parametrize("seconds", [86_400, -40])
async def test_a_server_clock_that_is_set_silences_nobody(make: Make, seconds: int) -> None:
    stage = make(SILENT)
    await stage.play(arriving(Figures().batches(100, ALIVE)), 100, {50: set_clock(seconds)})
    stage.want()


async def test_a_server_that_slept_blames_no_agent(make: Make) -> None:
    """An hour passes on the wall while nothing runs."""
    stage = make(SILENT)

    async def sleep(stage: Stage) -> None:
        stage.clock.advance(3600)
        await go_on(stage)

    await stage.play(arriving(Figures().batches(100, ALIVE)), 100, {50: sleep})
    stage.want()


async def test_hosts_that_fall_silent_together_are_one_message(make: Make) -> None:
    stage = make(SILENT + 'group_by = ["rule"]\ngroup_wait = "5s"\n')
    arrivals = [one for name in ("node-1", "node-2", "node-3") for one in arriving(Figures(name).batches(40, ALIVE))]
    await stage.play(arrivals, 100)
    stage.want(("firing", 75, 85))
    assert len(stage.told[0].message.alerts) == 3
    assert stage.told[0].message.host == ""
    assert stage.told[0].delivery.host_id == 0


def xid(second: float, code: int) -> Event:
    return Event(t=START + int(second * SECOND), kind="xid", text=f"Xid {code} on GPU 0", entity=gpu_key(0))


async def test_an_xid_fires_and_ends_after_its_time(make: Make) -> None:
    stage = make('[rules.xid]\nkind = "xid"\nhold_minutes = 1\nwarm_up = "0s"\n')
    await stage.play(arriving(Figures().batches(120, ALIVE, [xid(22, 79)])), 120)
    stage.want(("firing", 26, 30), ("resolved", 82, 95))
    assert stage.told[0].message.alerts[0].value == 79


async def test_an_xid_of_an_application_is_left_out(make: Make) -> None:
    stage = make('[rules.xid]\nkind = "xid"\nwarm_up = "0s"\n')
    await stage.play(arriving(Figures().batches(60, ALIVE, [xid(22, 13)])), 60)
    stage.want()


async def test_an_xid_while_nobody_looked_is_told_afterwards(make: Make) -> None:
    stage = make('[rules.xid]\nkind = "xid"\nwarm_up = "0s"\n')
    await stage.play(arriving(Figures().batches(90, ALIVE, [xid(32, 79)])), 90, {20: pause, 70: go_on})
    stage.want(("firing", 70, 74))


async def test_memory_errors_fire_when_they_are_added(make: Make) -> None:
    """Three were there before; two more come."""
    stage = make('[rules.ecc]\nkind = "ecc"\nwarm_up = "0s"\n')
    count = {"gpu_ecc_errors_count": steps((40, 3.0), (90, 5.0)), "gpu_power_watts": constant(300.0)}
    await stage.play(arriving(Figures().batches(90, count)), 90)
    stage.want(("firing", 45, 55))
    assert stage.told[0].message.alerts[0].value == 2


async def test_a_gpu_that_falls_off_the_bus(make: Make) -> None:
    stage = make('[rules.lost]\nkind = "gpu_lost"\nfor = "10s"\nclear_for = "10s"\nwarm_up = "0s"\n')
    gone = {"gpu_power_watts": steps((40, 300.0), (90, None), (140, 300.0))}
    await stage.play(arriving(Figures().batches(140, gone)), 140)
    stage.want(("firing", 60, 80), ("resolved", 100, 125))


async def test_a_silent_host_has_lost_no_gpu(make: Make) -> None:
    stage = make('[rules.lost]\nkind = "gpu_lost"\nfor = "10s"\nwarm_up = "0s"\n')
    await stage.play(without(arriving(Figures().batches(140, ALIVE)), 40, 110), 140)
    stage.want()


LINK = '[rules.link]\nkind = "link_degraded"\nfor = "20s"\nclear_for = "10s"\nwarm_up = "0s"\n'


@pytest.mark.parametrize(("busy", "fires"), [(0.9, True), (0.0, False)])
async def test_a_link_below_its_maximum_counts_under_load(make: Make, busy: float, fires: bool) -> None:
    stage = make(LINK)
    figures = {
        "pcie_link_generation": steps((20, 5.0), (90, 1.0)),
        "pcie_link_width_lanes": constant(16.0),
        "gpu_utilization_ratio": constant(busy),
    }
    await stage.play(arriving(Figures().batches(90, figures)), 90)
    stage.want(*([("firing", 40, 55)] if fires else []))


async def test_heat_throttles(make: Make) -> None:
    stage = make('[rules.hot]\nkind = "throttling"\nfor = "20s"\nclear_for = "10s"\nwarm_up = "0s"\n')
    figures = {
        "gpu_violation_thermal_ratio": steps((20, 0.0), (70, 0.4), (120, 0.0)),
        "gpu_clocks_event_reasons_code": constant(4.0),
    }
    await stage.play(arriving(Figures().batches(120, figures)), 120)
    stage.want(("firing", 40, 55), ("resolved", 80, 105))


HOLD = (
    '[rules.hold]\nkind = "cause_holding"\nshare = 0.5\nclear_share = 0.2\nfor = "30s"\nclear_for = "10s"\n'
    'warm_up = "0s"\n'
)


async def test_a_cause_that_holds(make: Make) -> None:
    """The GPU idles for 70 % of the time, evenly, and then works."""
    stage = make(HOLD)
    await stage.play(arriving(batches((130, 0.3), (110, 0.95))), 240)
    stage.want(("firing", 30, 70), ("resolved", 170, 230))
    assert stage.told[0].message.cause == "cpu_preprocess"
    assert stage.told[0].message.ledger[0].cause == "cpu_preprocess"


async def test_no_work_holds_only_where_named(make: Make) -> None:
    named = HOLD.replace("rules.hold", "rules.named") + 'causes = ["no_work"]\n'
    stage = make(HOLD + named, cause="no_work")
    await stage.play(arriving(batches((100, 0.3))), 100)
    assert [one.message.rule for one in stage.told] == ["named"]


async def test_gpu_seconds_lost_per_hour(make: Make) -> None:
    """Two GPUs that idle for 70 % lose 5,040 GPU-seconds an hour."""
    stage = make('[rules.rate]\nkind = "lost_rate"\ngpu_seconds_per_hour = 4000\nfor = "20s"\nwarm_up = "0s"\n')
    await stage.play(arriving(batches((80, 0.3), gpus=2)), 80)
    stage.want(("firing", 20, 60))
    assert stage.told[0].message.alerts[0].value == pytest.approx(5040, rel=0.1)


async def test_money_lost_per_hour(make: Make) -> None:
    stage = make(
        '[rules.rate]\nkind = "lost_rate"\nmoney_per_hour = 5\nprice_per_gpu_hour = 3.5\nfor = "20s"\nwarm_up = "0s"\n'
    )
    await stage.play(arriving(batches((80, 0.3), gpus=2)), 80)
    stage.want()


async def test_idle_share(make: Make) -> None:
    stage = make('[rules.lazy]\nkind = "idle_share"\nshare = 0.6\nclear_share = 0.5\nfor = "20s"\nwarm_up = "0s"\n')
    await stage.play(arriving(batches((80, 0.3))), 80)
    stage.want(("firing", 20, 60))


async def test_quiet_hours_hold_the_message(make: Make) -> None:
    """The stage lies in a quiet hour of some zone; the rule without one is told."""
    quiet = MEMORY.replace("rules.memory", "rules.quiet") + 'quiet_hours = ["00:00-12:00", "12:00-24:00"]\n'
    stage = make(MEMORY + quiet)
    await stage.play(arriving(Figures().batches(60, used((10, 50), (60, 97)))), 60)
    assert [one.message.rule for one in stage.told] == ["memory"]
    assert {alert.state for alert in await stage.alerts()} == {"firing"}
