"""The rolling diagnosis: when it judges, what it costs at most, and what it starts from after a restart."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from gapscope_backend.analysis.language import from_message
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Window
from gapscope_backend.services.hosts import find_host
from gapscope_backend.services.rolling import BUDGET_SHARE
from gapscope_backend.services.watch import Episode, advance_watch
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Host
from gapscope_backend.store.watch import read_verdicts, read_watches
from tests.backend.batches import SECOND
from tests.incidents.story import Story, at, batches
from tests.incidents.watching import Watching


@pytest.fixture
def analyse() -> Story:
    return Story()


async def test_a_host_is_judged_every_ten_seconds_while_data_comes(watching: Watching, analyse: Story) -> None:
    await watching.deliver(batches((120, 0.9), seconds=5))
    ends = [span.end_ns for span in analyse.seen]
    assert len(ends) == 12
    assert all(later - earlier == 10 * SECOND for earlier, later in pairwise(ends))
    for _ in range(5):
        watching.clock.advance(10)
        await watching.rolling.tick()
    assert len(analyse.seen) == 13
    assert at(analyse.seen[-1].end_ns) == pytest.approx(120.1)


@pytest.mark.both_engines
async def test_the_verdict_is_kept_and_used_after_a_restart(watching: Watching, analyse: Story) -> None:
    await watching.deliver(batches((60, 0.97), seconds=20))
    host = await find_host(watching.database, "node-1")
    (kept,) = await read_verdicts(watching.database, [host.id])
    assert msgspec.json.decode(kept.verdict, type=Verdict, dec_hook=from_message).verdict == "healthy"
    judged = len(analyse.seen)
    watching.restart()
    await watching.rolling.tick()
    minute = watching.rolling.minutes.get(host.id)
    assert minute is not None
    assert minute.verdict is not None
    assert len(minute.active["gpu:GPU-0"]) == 60
    assert len(analyse.seen) == judged


async def test_verdicts_keep_within_their_budget(watching: Watching, analyse: Story) -> None:
    cost_seconds = 1.0

    def slow(window: Window) -> Verdict:
        watching.clock.advance(cost_seconds)
        return analyse(window)

    watching.analyse = slow
    for host in range(8):
        for batch in batches((10, 0.9), host=f"node-{host}", seconds=10):
            await watching.store(batch)
    began = watching.clock()
    for _ in range(1000):
        await watching.rolling.tick()
        watching.clock.advance(0.1)
    passed = (watching.clock() - began) / SECOND
    assert len(analyse.seen) == 8
    assert {span.end_ns for span in analyse.seen} == {analyse.seen[0].end_ns}
    assert 8 * cost_seconds / passed <= BUDGET_SHARE


async def test_no_host_waits_for_ever(watching: Watching, analyse: Story) -> None:
    judged: list[str] = []

    def slow(window: Window) -> Verdict:
        watching.clock.advance(2)
        judged.append(window.host)
        return analyse(window)

    watching.analyse = slow
    hosts = [batches((200, 0.9), host=f"node-{host}", seconds=10) for host in range(4)]
    for round_of_batches in zip(*hosts, strict=True):
        await watching.deliver(round_of_batches)
    counts = [judged.count(f"node-{host}") for host in range(4)]
    assert max(counts) - min(counts) <= 1


@pytest.mark.both_engines
async def test_the_watch_is_written_down_every_minute(watching: Watching) -> None:
    sent = batches((180, 0.9), seconds=10)
    await watching.deliver(sent[:5])
    assert await read_watches(watching.database) == []
    await watching.deliver(sent[5:])
    (row,) = await read_watches(watching.database)
    assert 60 <= at(row.watermark_ns) <= 180
    assert row.state["gpus"]["gpu:GPU-0"]["watermark_ns"] == row.watermark_ns


async def test_one_hosts_bad_data_does_not_stop_the_others(watching: Watching, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(database: Database, host: Host, *words: Any) -> list[Episode]:
        if host.name == "node-0":
            raise ValueError("cannot be read")
        return await advance_watch(database, host, *words)

    monkeypatch.setattr("gapscope_backend.services.rolling.advance_watch", broken)
    drop = ((30.0, 0.9), (40.0, 0.02), (30.0, 0.9))
    for pair in zip(batches(*drop, host="node-0"), batches(*drop, host="node-1"), strict=True):
        await watching.deliver(pair)
    assert len(await watching.incidents()) == 1
