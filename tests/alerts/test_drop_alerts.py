"""Acceptance in time, drops: what is pushed at some second, and between which seconds which messages are wanted.

Each case runs with a new watch and a new evaluator every seven seconds; in `make soak` steadily and at every second.
The GPU is 90 % active and falls to 2 % at second 90; the detector tells a drop after 10 s, and batches arrive every 5
s.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gapscope_agent.wire import Batch
from gapscope_backend.services.alert_admin import acknowledge, make_silence, stop_silence
from gapscope_backend.store.database import Database
from tests.alerts.stage import RESTARTS, Stage, arriving, go_on, held_up, pause, set_clock, without
from tests.incidents.story import Story, at, batches

DROP = '[rules.drop]\nkind = "utilization_drop"\nfor = "20s"\nclear_for = "5s"\nwarm_up = "30s"\n'
GOOD, LOW = 0.9, 0.02
Make = Callable[..., Stage]


@pytest.fixture(params=RESTARTS)
def make(database: Database, request: pytest.FixtureRequest) -> Make:
    def new(rules: str = DROP, cause: str = "cpu_preprocess", **more: object) -> Stage:
        return Stage(database, rules, Story(cause), restarts=request.param, **more)  # type: ignore[arg-type]

    return new


def a_drop(low: float = 60, after: float = 30, gpus: int = 1) -> list[Batch]:
    return batches((90, GOOD), (low, LOW), (after, GOOD), gpus=gpus)


@pytest.mark.both_engines
async def test_fires_after_for_and_resolves_after_the_end(make: Make) -> None:
    stage = make()
    await stage.play(arriving(a_drop()), 190)
    stage.want(("firing", 111, 118), ("resolved", 160, 175))
    (alert,) = await stage.alerts()
    assert (alert.state, alert.cause, alert.severity, alert.told_state) == (
        "resolved",
        "cpu_preprocess",
        "warning",
        "resolved",
    )
    assert at(alert.began_ns) == pytest.approx(90, abs=0.5)
    assert at(alert.end_ns) == pytest.approx(150, abs=0.5)
    first, last = (one.message for one in stage.told)
    assert (first.rule, first.host, first.subjects, first.cause) == ("drop", "node-1", ["gpu:GPU-0"], "cpu_preprocess")
    assert first.link == f"https://gapscope.example/incident/{alert.incident}"
    assert first.ledger[0].cause == "cpu_preprocess"
    assert first.sparkline is not None
    assert first.sparkline.text.endswith("▇▁▁") or "▁" in first.sparkline.text[-3:]
    assert last.ended_ns == alert.end_ns
    assert {one.delivery.alerts[0] for one in stage.told} == {alert.id}


async def test_a_short_drop_fires_nothing(make: Make) -> None:
    stage = make()
    await stage.play(arriving(a_drop(low=15)), 150)
    stage.want()
    assert await stage.alerts() == []


async def test_no_work_pages_nobody(make: Make) -> None:
    stage = make(cause="no_work")
    await stage.play(arriving(a_drop()), 190)
    stage.want()


async def test_no_work_is_told_where_the_rule_names_it(make: Make) -> None:
    stage = make(DROP + 'causes = ["no_work"]\n', cause="no_work")
    await stage.play(arriving(a_drop()), 190)
    stage.want(("firing", 111, 130), ("resolved", 160, 175))
    assert stage.told[0].message.cause == "no_work"


async def test_a_rule_for_no_work_is_silent_about_faults(make: Make) -> None:
    stage = make(DROP + 'causes = ["no_work"]\n')
    await stage.play(arriving(a_drop()), 190)
    stage.want()


async def test_an_excepted_cause_is_left_out(make: Make) -> None:
    stage = make(DROP + 'except_causes = ["cpu_preprocess"]\n')
    await stage.play(arriving(a_drop()), 140)
    stage.want()


async def test_gpus_of_a_host_are_told_together(make: Make) -> None:
    stage = make()
    await stage.play(arriving(a_drop(gpus=2)), 190)
    stage.want(("firing", 111, 119), ("resolved", 160, 185))
    assert [len(one.message.alerts) for one in stage.told] == [2, 2]


async def test_grouped_by_gpu_each_has_its_message(make: Make) -> None:
    stage = make(DROP + 'group_by = ["host", "gpu"]\n')
    await stage.play(arriving(a_drop(gpus=2)), 140)
    stage.want(("firing", 111, 119), ("firing", 111, 119))
    assert len({one.delivery.group_key for one in stage.told}) == 2


async def test_a_gap_in_the_data_resolves_nothing(make: Make) -> None:
    stage = make()
    seen: list[int | None] = []

    async def look(stage: Stage) -> None:
        seen.extend(alert.no_data_since_ns for alert in await stage.alerts() if alert.state == "firing")

    arrivals = without(arriving(a_drop(low=120, after=40)), 130, 190)
    await stage.play(arrivals, 260, {185: look})
    stage.want(("firing", 111, 119), ("resolved", 220, 240))
    assert len(seen) == 1
    assert seen[0] is not None
    assert 120 <= at(seen[0]) <= 131


async def test_time_without_data_does_not_count(make: Make) -> None:
    """12 s of a drop are measured before the gap and none after it."""
    stage = make()
    await stage.play(without(arriving(a_drop(low=75, after=60)), 100, 165), 240)
    stage.want()


async def test_data_that_was_held_up_is_told_once(make: Make) -> None:
    """The network was away from before the drop until after it."""
    stage = make()
    await stage.play(held_up(arriving(a_drop(after=60)), 80, 170), 220)
    assert [one.message.state for one in stage.told][-1] == "resolved"
    assert len(stage.told) <= 2
    (alert,) = await stage.alerts()
    assert at(alert.began_ns) == pytest.approx(90, abs=0.5)
    assert at(alert.end_ns) == pytest.approx(150, abs=0.5)


async def test_a_pause_of_the_evaluator_loses_no_alert(make: Make) -> None:
    stage = make()
    await stage.play(arriving(a_drop(after=70)), 215, {80: pause, 200: go_on})
    stage.want(("resolved", 200, 206))
    (alert,) = await stage.alerts()
    assert (alert.state, alert.cause) == ("resolved", "cpu_preprocess")
    assert at(alert.end_ns) == pytest.approx(150, abs=0.5)


async def test_a_pause_in_the_middle_of_a_drop_delays_it_only(make: Make) -> None:
    stage = make()
    await stage.play(arriving(a_drop()), 190, {95: pause, 130: go_on})
    stage.want(("firing", 130, 136), ("resolved", 160, 175))


async def test_an_end_during_a_pause_is_told_after_it(make: Make) -> None:
    stage = make()
    await stage.play(arriving(a_drop(after=80)), 215, {140: pause, 200: go_on})
    stage.want(("firing", 111, 119), ("resolved", 200, 208))


@pytest.mark.parametrize("seconds", [86_400, -40])
async def test_a_server_clock_that_is_set_changes_nothing(make: Make, seconds: int) -> None:
    stage = make()
    arrivals = arriving(a_drop())
    await stage.play(arrivals, 190, {100: set_clock(seconds), 140: set_clock(-seconds)})
    stage.want(("firing", 111, 119), ("resolved", 160, 185))


async def test_two_drops_close_together_are_one_alert(make: Make) -> None:
    stage = make(DROP.replace('clear_for = "5s"', 'clear_for = "60s"'))
    await stage.play(arriving(batches((90, GOOD), (40, LOW), (20, GOOD), (40, LOW), (90, GOOD))), 280)
    stage.want(("firing", 111, 119), ("resolved", 240, 275))
    assert len(await stage.alerts()) == 1


async def test_two_drops_far_apart_are_two(make: Make) -> None:
    stage = make()
    await stage.play(arriving(batches((90, GOOD), (40, LOW), (60, GOOD), (40, LOW), (30, GOOD))), 265)
    stage.want(("firing", 111, 119), ("resolved", 139, 160), ("firing", 210, 220), ("resolved", 239, 260))
    assert len({alert.id for alert in await stage.alerts()}) == 2


async def test_warm_up_holds_back(make: Make) -> None:
    stage = make(DROP.replace('warm_up = "30s"', 'warm_up = "130s"'))
    await stage.play(arriving(a_drop()), 145)
    stage.want(("firing", 131, 142))


async def test_another_host_is_out_of_scope(make: Make) -> None:
    stage = make(DROP + 'hosts = ["gpu-*"]\n')
    await stage.play(arriving(a_drop()), 140)
    stage.want()


async def test_another_gpu_is_out_of_scope(make: Make) -> None:
    stage = make(DROP + "gpus = [1]\n")
    await stage.play(arriving(a_drop(gpus=2)), 140)
    assert [one.message.subjects for one in stage.told] == [["gpu:GPU-1"]]


async def test_a_silence_holds_the_message_until_it_ends(make: Make) -> None:
    stage = make()

    async def silence(stage: Stage) -> None:
        await make_silence(stage.database, ["host=node-*"], stage.clock(), 40, "upgrade", "ada")

    await stage.play(arriving(a_drop()), 190, {100: silence})
    stage.want(("firing", 140, 143), ("resolved", 160, 185))


async def test_what_comes_and_goes_in_a_silence_is_never_told(make: Make) -> None:
    stage = make()

    async def silence(stage: Stage) -> None:
        await make_silence(stage.database, ["rule=drop"], stage.clock(), 600, "upgrade", "ada")

    await stage.play(arriving(a_drop()), 200, {100: silence})
    stage.want()
    assert [alert.state for alert in await stage.alerts()] == ["resolved"]


async def test_a_silence_that_is_ended_early_ends(make: Make) -> None:
    stage = make()
    made: list[str] = []

    async def silence(stage: Stage) -> None:
        made.append((await make_silence(stage.database, ["rule=drop"], stage.clock(), 600, "upgrade", "ada")).id)

    async def end(stage: Stage) -> None:
        await stop_silence(stage.database, made[0], stage.clock())

    await stage.play(arriving(a_drop()), 145, {100: silence, 130: end})
    stage.want(("firing", 130, 132))


async def test_the_end_is_told_in_a_silence_too(make: Make) -> None:
    stage = make()

    async def silence(stage: Stage) -> None:
        await make_silence(stage.database, ["rule=drop"], stage.clock(), 600, "seen", "ada")

    await stage.play(arriving(a_drop()), 190, {125: silence})
    stage.want(("firing", 111, 119), ("resolved", 160, 175))


async def test_it_is_told_again_until_somebody_looks_after_it(make: Make) -> None:
    stage = make(DROP + 'repeat = "20s"\n')

    async def take(stage: Stage) -> None:
        (alert,) = await stage.alerts()
        await acknowledge(stage.database, alert.id, "ada", stage.clock())

    await stage.play(arriving(a_drop(low=120)), 205, {160: take})
    states = [(one.message.state, one.message.sequence) for one in stage.told]
    assert states == [("firing", 1), ("firing", 2), ("firing", 3)]
    assert len({one.delivery.id for one in stage.told}) == 3


async def test_a_rule_that_is_switched_off_ends_its_alerts(make: Make) -> None:
    stage = make()

    async def off(stage: Stage) -> None:
        await stage.change_rules(DROP + "enabled = false\n")

    await stage.play(arriving(a_drop()), 170, {125: off})
    stage.want(("firing", 111, 119), ("resolved", 125, 150))


async def test_a_channel_that_comes_later_is_told_what_fires(make: Make) -> None:
    stage = make(channels=())

    async def add(stage: Stage) -> None:
        await stage.add_channel("late")

    await stage.play(arriving(a_drop()), 145, {130: add})
    stage.want(("firing", 130, 132))
    assert stage.told[0].delivery.channel_id == "late"


async def test_every_channel_of_the_rule_has_its_message(make: Make) -> None:
    stage = make(DROP + 'channels = ["ops", "ml-*"]\n', channels=("ops", "ml-team", "other"))
    await stage.play(arriving(a_drop()), 140)
    assert {one.delivery.channel_id for one in stage.told} == {"ops", "ml-team"}


async def test_one_rule_holds_another_back(make: Make) -> None:
    also = DROP.replace("rules.drop", "rules.also") + 'unless = ["drop"]\n'
    stage = make(DROP + also)
    await stage.play(arriving(a_drop()), 140)
    assert {one.message.rule for one in stage.told} == {"drop"}
    assert {alert.rule_id for alert in await stage.alerts()} == {"drop", "also"}
