"""The whole of it over stand-ins: who is asked what, what reaches the stream, what is told of each target."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from gapscope_agent.sources.drop_watch import DropWatch
from gapscope_agent.stacks import states
from gapscope_agent.stacks.messages import Answer, Refused, Request, Snapshot, Trace
from gapscope_agent.stacks.sampling import StackSampling
from gapscope_agent.stacks.settings import StackSettings
from gapscope_agent.stacks.targets import MAX_TARGETS, Targets
from tests.agent_sources.fakes import FakeClock
from tests.agent_stacks.conftest import HOME, FakeAccess, Stream, refusal, sampled, until

NS = 1_000_000_000


class GivenTargets(Targets):
    """Names the processes it was told."""

    def __init__(self, pids: list[int]) -> None:
        self.pids = pids
        self.peers_looked_for: list[bool] = []

    def choose(self, owners: frozenset[int], mono_ns: int, *, look_for_peers: bool = True) -> list[int]:
        self.peers_looked_for.append(look_for_peers)
        return self.pids


class SteppedClock(FakeClock):
    """A worker's wait takes no time of the test's, but lets the others go on; the test moves the time."""

    def wait(self, event: threading.Event, seconds: float) -> bool:
        return event.wait(0.001)


Make = Callable[..., StackSampling]


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def drops() -> DropWatch:
    return DropWatch()


@pytest.fixture
def make(clock: SteppedClock, drops: DropWatch, stream: Stream) -> Iterator[Make]:
    made: list[StackSampling] = []

    def build(access: FakeAccess, pids: list[int], **settings: object) -> StackSampling:
        sampling = StackSampling(
            StackSettings(**settings),  # type: ignore[arg-type]
            access,
            frozenset,
            drops,
            stream,
            clock=clock,
            targets=GivenTargets(pids),
        )
        made.append(sampling)
        return sampling

    yield build
    for sampling in made:
        sampling.stop()


def drop(drops: DropWatch, clock: SteppedClock) -> None:
    """A GPU that was busy for a minute is idle now."""
    for tenth in range(600):
        drops.look(0, "utilization", clock.mono + tenth * NS // 10, 0.95)
    clock.advance(60)
    for _ in range(10):
        clock.advance(0.1)
        drops.look(0, "utilization", clock.mono, 0.0)


def test_nothing_is_asked_while_nothing_drops(make: Make, clock: SteppedClock, drops: DropWatch) -> None:
    access = FakeAccess()
    sampling = make(access, [5])
    for _ in range(50):
        clock.advance(0.1)
        drops.look(0, "utilization", clock.mono, 0.95)
        sampling.tick()
    assert access.asked == []


def test_a_drop_is_seen_by_the_next_tick_and_its_stacks_reach_the_stream(
    make: Make, clock: SteppedClock, drops: DropWatch, stream: Stream
) -> None:
    access = FakeAccess(lambda _: sampled(77))
    sampling = make(access, [5], strip_prefixes=(HOME,))
    drop(drops, clock)
    sampling.tick()
    until(lambda: bool(stream.stacks()))
    assert set(map(type, access.asked)) == {Snapshot}
    stacks = stream.stacks()[0]
    assert (stacks.t, stacks.pid, stacks.threads[0].frames[0].file) == (77, 5, "app.py")
    assert stacks.threads[0].frames[0].source == 'key = "[redacted]"'
    assert ("stacks:5", states.SAMPLING) in stream.states()
    assert sampling.cpu_seconds() > 0


def test_a_burst_ends_and_its_workers_with_it(make: Make, clock: SteppedClock, drops: DropWatch) -> None:
    access = FakeAccess()
    sampling = make(access, [5])
    drop(drops, clock)
    sampling.tick()
    until(lambda: len(access.asked) > 3)
    clock.advance(10.1)
    sampling.tick()
    until(lambda: not any(thread.name == "stacks-5" for thread in threading.enumerate()))


def test_a_request_is_answered_without_a_drop(make: Make) -> None:
    access = FakeAccess()
    sampling = make(access, [5])
    sampling.ask(3)
    sampling.tick()
    until(lambda: bool(access.asked))


def test_owners_are_asked_at_once_and_who_feeds_them_is_looked_for_afterwards(make: Make, clock: SteppedClock) -> None:
    sampling = make(FakeAccess(), [5])
    sampling.ask(30)
    for _ in range(3):
        sampling.tick()
        clock.advance(0.1)
    assert isinstance(sampling._targets, GivenTargets)
    assert sampling._targets.peers_looked_for == [False, True]


def test_continuous_traces_all_the_time_and_sends_all(make: Make, stream: Stream) -> None:
    access = FakeAccess()
    sampling = make(access, [5], mode="continuous", rate_hertz=10)
    sampling.tick()
    until(lambda: bool(stream.stacks()))
    assert access.asked[0] == Trace(5, 10, 10.0)


def test_around_drops_keeps_half_a_minute_and_sends_it_when_a_gpu_drops(
    make: Make, clock: SteppedClock, drops: DropWatch, stream: Stream
) -> None:
    times = iter(range(0, 100_000 * NS, 10 * NS))
    access = FakeAccess(lambda _: sampled(next(times)))
    sampling = make(access, [5], mode="continuous", keep="around_drops")
    sampling.tick()
    until(lambda: len(access.asked) > 20)
    assert stream.stacks() == []
    drop(drops, clock)
    sampling.tick()
    until(lambda: len(stream.stacks()) >= 4)
    held = [stacks.t for stacks in stream.stacks()[:4]]
    assert held[0] > 0
    assert held == sorted(held)
    assert held[3] - held[0] <= 30 * NS


def test_off_starts_no_thread_and_says_so(make: Make, stream: Stream) -> None:
    access = FakeAccess()
    sampling = make(access, [5], mode="off")
    sampling.start()
    sampling.ask(100)
    sampling.tick()
    assert not any(thread.name.startswith("stacks") for thread in threading.enumerate())
    assert access.asked == []
    assert stream.states() == [("stacks", "off")]


@pytest.mark.parametrize("state", [states.NOT_PYTHON, states.UNSUPPORTED, states.ENDED])
def test_a_target_that_cannot_be_sampled_is_told_once_and_left_alone(
    make: Make, clock: SteppedClock, stream: Stream, state: str
) -> None:
    access = FakeAccess(refusal(state, final=True))
    sampling = make(access, [5])
    sampling.ask(100)
    for _ in range(30):
        sampling.tick()
        clock.advance(1)
    until(lambda: bool(stream.states()))
    assert stream.states() == [("stacks:5", state)]
    assert stream.reason("stacks:5") == f"because of {state}"
    assert len(access.asked) == 1


def test_a_target_found_stopped_ends_in_a_hard_stop(make: Make, stream: Stream, clock: SteppedClock) -> None:
    access = FakeAccess(refusal(states.STOPPED))
    sampling = make(access, [5])
    sampling.ask(1000)
    sampling.tick()
    until(lambda: sampling._guards[(5, sampling._activity)].ended)
    assert stream.states()[-1] == ("stacks:5", states.STOPPED)
    asked = len(access.asked)
    for _ in range(5):
        clock.advance(1)
        sampling.tick()
    assert len(access.asked) == asked


def test_one_bad_target_does_not_stop_the_others(make: Make, stream: Stream) -> None:
    def reply(request: Request) -> Answer:
        assert isinstance(request, Snapshot)
        if request.pid == 5:
            raise ValueError("a fault of ours")
        return sampled(1)

    sampling = make(FakeAccess(reply), [5, 6])
    sampling.ask(100)
    sampling.tick()
    until(lambda: {stacks.pid for stacks in stream.stacks()} == {6})


def test_more_processes_than_are_sampled_are_counted(make: Make, stream: Stream, clock: SteppedClock) -> None:
    access = FakeAccess(lambda request: Refused(states.NOT_PYTHON, "none", final=True))
    sampling = make(access, list(range(1, MAX_TARGETS + 4)))
    sampling.ask(100)
    sampling.tick()
    until(lambda: len(access.asked) == MAX_TARGETS)
    assert stream.reason("stacks").startswith("3 processes more")
    assert isinstance(sampling._targets, GivenTargets)
    sampling._targets.pids = [1]
    for _ in range(2):
        clock.advance(1.1)
        sampling.tick()
    assert [state for source, state in stream.states() if source == "stacks"] == [states.TOO_MANY_PROCESSES, "ok"]


def test_what_is_missing_is_told_at_the_start(make: Make, stream: Stream) -> None:
    access = FakeAccess(missing="py-spy is not installed")
    sampling = make(access, [])
    sampling.start()
    until(lambda: bool(stream.states()))
    sampling.stop()
    assert access.stopped
    assert stream.states() == [("stacks", "unavailable")]
    assert stream.reason("stacks") == "py-spy is not installed"
