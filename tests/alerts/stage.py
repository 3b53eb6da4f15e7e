"""A stage for alerts: batches arrive at their times, the watch and the evaluator tick, messages are noted.

One second after another passes on clocks that the stage moves; with ``restarts`` the watch and the evaluator are made
anew on the same database every so many seconds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from gapscope_agent.wire import Batch, Entity, Event, encode
from gapscope_backend.alerts.files import read_text
from gapscope_backend.alerts.message import Message, from_plain
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Window
from gapscope_backend.services.alert_rules import sync_rules
from gapscope_backend.services.alerting import Alerting
from gapscope_backend.services.ingest import Ingest
from gapscope_backend.store.alert_models import Alert, Channel, Delivery
from gapscope_backend.store.database import Database
from tests.backend.batches import SECOND, TICK, BatchMaker, Clock, group
from tests.incidents.story import START, Story, gpu_key
from tests.incidents.watching import Watching

Action = Callable[["Stage"], Awaitable[object]]
HEAD = "defaults = false\n"
RESTARTS = (
    pytest.param(7, id="restarted-at-times"),
    pytest.param(0, id="steady", marks=pytest.mark.soak),
    pytest.param(1, id="restarted-always", marks=pytest.mark.soak),
)
"""How often a case starts the watch and the evaluator anew, in seconds; never (0) and every second in `make soak`."""


@dataclass
class ServerClock(Clock):
    """A wall clock that can be set, beside a steady one."""

    steady: float = 0.0

    def monotonic(self) -> float:
        return self.steady

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        self.steady += seconds


@dataclass
class Told:
    """A message as it was written, and at which second of the stage."""

    second: int
    delivery: Delivery
    message: Message


@dataclass
class Stage:
    """It begins at second ``begin``, when all that was measured before arrives at once. ``paused``: no evaluator."""

    database: Database
    rules: str
    analyse: Callable[[Window], Verdict] = field(default_factory=Story)
    restarts: int = 0
    channels: Sequence[str] = ("ops",)
    begin: int = 60
    second: int = field(init=False)
    told: list[Told] = field(default_factory=list)
    paused: bool = False
    clock: ServerClock = field(init=False)
    watch: Watching = field(init=False)
    alerting: Alerting = field(init=False)

    def __post_init__(self) -> None:
        self.second, self.clock = self.begin, ServerClock(START + self.begin * SECOND)
        self.watch = Watching(self.database, self.clock, self.analyse)
        self.restart()

    def restart(self) -> None:
        """All that was in memory is gone."""
        self.watch.restart()
        self.restart_evaluator()

    def restart_evaluator(self) -> None:
        self.alerting = Alerting(self.database, self.clock, self.clock.monotonic, "https://gapscope.example")

    async def change_rules(self, rules: str) -> None:
        specs, faults = read_text(HEAD + rules)
        assert faults == []
        await sync_rules(self.database, specs, self.clock())

    async def add_channel(self, name: str) -> None:
        settings = {"url": "https://example.org"}
        row = Channel(id=name, kind="webhook", name=name, settings=settings, secrets=[], enabled=True, origin="api",
                      revision=1, updated_ns=self.clock())  # fmt: skip
        async with self.database.write() as session:
            session.add(row)

    async def play(
        self,
        batches: Sequence[tuple[float, Batch]],
        until: int,
        actions: Mapping[int, Action] | None = None,
    ) -> None:
        """Let the seconds pass; ``batches`` come with the second at which each arrives."""
        if self.second == self.begin:
            await self.change_rules(self.rules)
            for name in self.channels:
                await self.add_channel(name)
        waiting = sorted(batches, key=lambda one: one[0])
        while self.second < until:
            self.second += 1
            self.clock.advance(1)
            here = [batch for at, batch in waiting if at <= self.second]
            waiting = waiting[len(here) :]
            for batch in here:
                await Ingest(self.database).take(encode(batch), "identity", "*", self.clock())
            restarted = bool(self.restarts) and self.second % self.restarts == 0
            if restarted:
                self.restart()
            if here or restarted:
                await self.watch.rolling.tick()
            if actions and self.second in actions:
                await actions[self.second](self)
            if not self.paused:
                await self.alerting.tick()
            await self._note()

    async def _note(self) -> None:
        known = {one.delivery.id for one in self.told}
        async with self.database.read() as session:
            rows = list(await session.scalars(select(Delivery).order_by(Delivery.created_ns, Delivery.id)))
        new = [row for row in rows if row.id not in known]
        self.told += [Told(self.second, row, from_plain(row.message)) for row in new]

    async def alerts(self) -> list[Alert]:
        async with self.database.read() as session:
            return list(await session.scalars(select(Alert).order_by(Alert.began_ns, Alert.id)))

    def want(self, *expected: tuple[str, int, int]) -> None:
        """Messages of these states, each between two seconds, and no others."""
        told = [(one.message.state, one.second) for one in self.told]
        assert [state for state, _ in told] == [state for state, _, _ in expected], told
        for (state, second), (_, low, high) in zip(told, expected, strict=True):
            assert low <= second <= high, (state, second, low, high)


async def pause(stage: Stage) -> None:
    stage.paused = True


async def go_on(stage: Stage) -> None:
    """The evaluator comes back as another process."""
    stage.paused = False
    stage.restart_evaluator()


def set_clock(seconds: float) -> Action:
    """The server's clock is set."""

    async def jump(stage: Stage) -> None:
        stage.clock.now_ns += round(seconds * SECOND)

    return jump


def arriving(batches: Sequence[Batch], delay: float = 1.0) -> list[tuple[float, Batch]]:
    """Each batch arrives when it is closed and a little later."""
    return [((batch.end_ns - START) / SECOND + delay, batch) for batch in batches]


def without(arrivals: Sequence[tuple[float, Batch]], first: float, last: float) -> list[tuple[float, Batch]]:
    """What was measured between two seconds never comes."""
    return [(at, batch) for at, batch in arrivals if not first <= (batch.start_ns - START) / SECOND < last]


def held_up(arrivals: Sequence[tuple[float, Batch]], first: float, last: float) -> list[tuple[float, Batch]]:
    """What was measured between two seconds arrives at the end of that time, in order."""
    return [
        (max(at, last) if first <= (batch.start_ns - START) / SECOND < last else at, batch) for at, batch in arrivals
    ]


@dataclass
class Figures:
    """Batches of a host with one GPU whose figures a test gives for each second."""

    host: str = "node-1"
    labels: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.maker = BatchMaker(host=self.host, run_id=f"run-{self.host}")

    def batches(
        self, seconds: int, figures: Mapping[str, Callable[[float], float | None]], events: Sequence[Event] = ()
    ) -> list[Batch]:
        """Five seconds a batch, one value a second; None is missing, and nothing at all where all are."""
        facts = {"index": "0", "name": "NVIDIA H200", "owners": "100", "memory_total_bytes": "100000000000",
                 "pcie_max_generation": "5", "pcie_max_width": "16", **self.labels}  # fmt: skip
        entities = [Entity(gpu_key(0), "gpu", facts), Entity("host", "host", {"logical_cpus": "16"})]
        made = []
        for first in range(0, seconds, 5):
            begins, ends = START + first * SECOND + TICK, START + (first + 5) * SECOND
            groups = [group("host", begins, SECOND, cpu_busy_cores=np.ones(5))]
            for metric, value in figures.items():
                told = [value(first + step) for step in range(5)]
                if all(one is not None for one in told):
                    groups.append(group(gpu_key(0), begins, SECOND, **{metric: np.array(told, dtype=float)}))
            here = [event for event in events if begins <= event.t < ends]
            made.append(self.maker.make(START + first * SECOND, ends, groups, entities=entities, events=here))
        return made


def constant(value: float) -> Callable[[float], float | None]:
    return lambda _second: value


def steps(*parts: tuple[float, float | None]) -> Callable[[float], float | None]:
    """A value until each second: ``steps((60, 1.0), (120, 2.0))``; the last one stays."""

    def value(second: float) -> float | None:
        return next((told for until, told in parts if second < until), parts[-1][1])

    return value


Values = Mapping[str, Any]
