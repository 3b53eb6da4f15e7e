"""Targets that run for the length of a test, and stand-ins for what lies behind the interfaces."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gapscope_agent.reading import Frame, Reading, SourceState, Stacks, ThreadStack
from gapscope_agent.stacks.messages import Answer, Cost, Facts, FactsFound, Moment, Refused, Request, Sampled

TARGETS = Path(__file__).parents[1] / "gpu" / "stack_targets.py"


@dataclass
class Target:
    """A program that is sampled. ``states`` are the states of all its threads that were seen while it was watched."""

    process: subprocess.Popen[str]
    pid: int
    counter: Path
    states: set[str] = field(default_factory=set)

    def family(self) -> list[int]:
        """This process and its children."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [self.pid, *map(int, children)]

    def steps(self) -> int:
        return int.from_bytes(self.counter.read_bytes(), "little")

    def look(self) -> None:
        """Note the states of all threads of the family now."""
        for pid in self.family():
            for stat in Path(f"/proc/{pid}/task").glob("*/stat"):
                with contextlib.suppress(OSError):
                    self.states.add(stat.read_bytes().rpartition(b")")[2].split()[0].decode())

    def watched(self, work: Callable[[], object]) -> None:
        """Do ``work`` and look at the states all the while."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(0.02):
                self.look()

        thread = threading.Thread(target=watch)
        thread.start()
        try:
            work()
        finally:
            over.set()
            thread.join()


Starter = Callable[..., Target]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    """Starts a stand-in and waits until it runs; all are ended, with their children, when the test is over."""
    started: list[Target] = []

    def begin(kind: str, *words: str, python: str = sys.executable) -> Target:
        counter = tmp_path / f"counter-{len(started)}"
        process = subprocess.Popen(
            [python, str(TARGETS), kind, str(counter), *words],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stdout is not None
        target = Target(process, int(json.loads(process.stdout.readline())["pid"]), counter)
        started.append(target)
        until = time.monotonic() + 30
        while not target.steps() and time.monotonic() < until:
            time.sleep(0.02)
        assert target.steps()
        return target

    yield begin
    for target in started:
        for pid in reversed(target.family()) if target.process.poll() is None else ():
            os.kill(pid, 9)
        target.process.wait()
        assert target.process.stdout is not None
        target.process.stdout.close()


@dataclass
class Stream:
    """What went into the agent's stream."""

    readings: list[Reading] = field(default_factory=list)

    def __call__(self, reading: Reading) -> None:
        self.readings.append(reading)

    def stacks(self) -> list[Stacks]:
        return [reading for reading in self.readings if isinstance(reading, Stacks)]

    def states(self) -> list[tuple[str, str]]:
        return [(r.source, r.state) for r in self.readings if isinstance(r, SourceState)]

    def reason(self, source: str) -> str:
        return next(r.reason for r in reversed(self.readings) if isinstance(r, SourceState) and r.source == source)


@pytest.fixture
def stream() -> Stream:
    return Stream()


HOME = "/home" + "/ann"


def sampled(t: int, cpu_seconds: float = 0.001, wall_seconds: float = 0.01, threads: int = 1) -> Sampled:
    stack = ThreadStack(tid=7, frames=[Frame("f", HOME + "/app.py", 3, 'key = "k"')], name="MainThread", active=True)
    return Sampled([Moment(t, [stack])], Cost(cpu_seconds, wall_seconds, threads))


@dataclass
class FakeAccess:
    """Answers each request by ``reply``, and remembers it."""

    reply: Callable[[Request], Answer] = lambda _: sampled(1)
    asked: list[Request] = field(default_factory=list)
    missing: str | None = None
    stopped: bool = False

    def answer(self, request: Request) -> Answer:
        self.asked.append(request)
        return FactsFound([]) if isinstance(request, Facts) else self.reply(request)

    def why_not(self) -> str | None:
        return self.missing

    def stop(self) -> None:
        self.stopped = True


def until(done: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something that has to happen, however slow the machine is."""
    limit = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < limit, "did not happen"
        time.sleep(0.01)


def refusal(state: str, *, final: bool = False) -> Callable[[Request], Answer]:
    return lambda _: Refused(state, f"because of {state}", final=final)
