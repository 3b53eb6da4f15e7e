"""Real processes under the real sampler: never stopped, never hurt, and what is told of them is right."""

from __future__ import annotations

import bisect
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gapscope_agent.reading import ThreadStack
from gapscope_agent.sources.drop_watch import DropWatch
from gapscope_agent.stacks import pyspy, states
from gapscope_agent.stacks.guard import Guard
from gapscope_agent.stacks.known_targets import MAX_TARGET_THREADS
from gapscope_agent.stacks.messages import Moment, Refused, Sampled
from gapscope_agent.stacks.sampler import PySpySampler
from gapscope_agent.stacks.sampling import StackSampling
from gapscope_agent.stacks.service import StackService
from gapscope_agent.stacks.settings import StackSettings
from tests.agent_stacks.conftest import Starter, Stream, until

BOUNDARY_NS = 150_000_000
"""A cell and a half on either side of a change of phase."""

pytestmark = pytest.mark.alone


def good(answer: Sampled | Refused) -> Sampled:
    assert isinstance(answer, Sampled), answer
    return answer


def functions(thread: ThreadStack) -> list[str]:
    return [frame.function for frame in thread.frames]


def main_thread(moment: Moment, pid: int) -> ThreadStack:
    return next(thread for thread in moment.threads if thread.tid == pid)


def no_child_is_left() -> bool:
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return not any("py-spy" in Path(f"/proc/{child}/comm").read_text() for child in children)


def test_a_target_of_159_threads_is_never_stopped_and_is_looked_at_less_often(start: Starter, stream: Stream) -> None:
    target = start("threads", "--count", "159")
    steps = target.steps()
    settings = StackSettings(burst_rate_hertz=10, max_cpu_cores=0.05)
    sampling = StackSampling(settings, StackService(), lambda: frozenset({target.pid}), DropWatch(), stream)

    def watch() -> None:
        sampling.ask(60)
        sampling.start()
        until(lambda: len(stream.stacks()) >= 3)
        sampling.stop()

    target.watched(watch)
    assert target.states
    assert not target.states & {"T", "t"}
    assert target.steps() > steps
    assert (f"stacks:{target.pid}", states.SLOWED) in stream.states()
    assert "159 threads" in stream.reason(f"stacks:{target.pid}")
    assert {stacks.pid for stacks in stream.stacks()} == {target.pid}
    assert len(stream.stacks()[0].threads) == 159
    assert no_child_is_left()


def test_more_threads_than_are_sampled_end_in_a_hard_stop(start: Starter) -> None:
    target = start("threads", "--count", str(MAX_TARGET_THREADS + 1))
    guard = Guard(target.pid, 0.2)
    sampler = PySpySampler()
    assert len(good(sampler.snapshot(target.pid)).moments[0].threads) == MAX_TARGET_THREADS + 1
    while not guard.ended:
        answer = sampler.snapshot(target.pid)
        assert isinstance(answer, Refused)
        assert answer.cost is None
        guard.refused(answer)
    assert guard.standing is not None
    assert guard.standing.state == states.TOO_MANY_THREADS
    assert f"at most {MAX_TARGET_THREADS}" in guard.standing.reason


def test_a_target_that_forks_32_workers_is_never_stopped(start: Starter) -> None:
    target = start("family", "--count", "32")
    assert len(target.family()) == 33
    sampler = PySpySampler()
    answers: list[Sampled | Refused] = []

    def watch() -> None:
        answers.extend(sampler.snapshot(pid) for pid in target.family()[:8])
        threads = [
            threading.Thread(target=lambda pid=pid: answers.append(sampler.trace(pid, 20, 1.0)))
            for pid in target.family()[:8]
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    target.watched(watch)
    assert not target.states & {"T", "t"}
    assert all(isinstance(answer, Sampled) for answer in answers)
    assert len(target.family()) == 33
    assert no_child_is_left()


@pytest.mark.parametrize("how", ["snapshot", "trace"])
def test_a_target_that_ends_while_it_is_sampled(start: Starter, how: str) -> None:
    target = start("tiny")
    sampler = PySpySampler()
    assert isinstance(sampler.snapshot(target.pid), Sampled)
    timer = threading.Timer(0.4, target.process.kill)
    timer.start()
    answer: Sampled | Refused
    if how == "trace":
        began = time.monotonic()
        answer = sampler.trace(target.pid, 10, 30.0)
        assert time.monotonic() - began < 20
    else:
        while isinstance(answer := sampler.snapshot(target.pid), Sampled):
            pass
    timer.join()
    target.process.wait()
    if isinstance(answer, Refused):
        assert answer.state in (states.ENDED, states.UNREADABLE, states.NOT_PYTHON)
    after = sampler.snapshot(target.pid)
    assert isinstance(after, Refused)
    assert (after.state, after.final) == (states.ENDED, True)
    assert no_child_is_left()


def test_a_target_that_somebody_stops_is_left_alone_and_told(start: Starter) -> None:
    target = start("tiny")
    sampler = PySpySampler()
    timer = threading.Timer(0.5, target.process.send_signal, [signal.SIGSTOP])
    timer.start()
    answer = sampler.trace(target.pid, 10, 20.0)
    timer.join()
    assert isinstance(answer, Refused)
    assert answer.state == states.STOPPED
    again = sampler.snapshot(target.pid)
    assert isinstance(again, Refused)
    assert again.cost is None
    target.process.send_signal(signal.SIGCONT)
    until(lambda: isinstance(sampler.snapshot(target.pid), Sampled))


def in_phase(moments: list[Moment], pid: int, log: Path) -> tuple[int, int, int]:
    """Moments within a phase and away from its ends; of them, those with the phase's stack, and with its flag."""
    phases = [json.loads(line) for line in log.read_text().splitlines()]
    begins = [phase["begin_ns"] for phase in phases]
    inner = right_stack = right_flag = 0
    for moment in moments:
        at = bisect.bisect_right(begins, moment.t) - 1
        if at < 0 or not begins[at] + BOUNDARY_NS <= moment.t < phases[at]["end_ns"] - BOUNDARY_NS:
            continue
        thread = main_thread(moment, pid)
        wanted = {"cpu": "work_on_cpu", "gpu": "wait_for_device"}[phases[at]["phase"]]
        inner += 1
        right_stack += wanted in functions(thread)
        right_flag += thread.active is (phases[at]["phase"] == "cpu")
    return inner, right_stack, right_flag


def test_stacks_fall_into_the_phases_that_they_belong_to(start: Starter) -> None:
    target = start("alternate", "--seconds", "1")
    sampler = PySpySampler()
    traced = good(sampler.trace(target.pid, 10, 10.0)).moments
    snapshots = []
    for _ in range(40):
        snapshots += good(sampler.snapshot(target.pid)).moments
        time.sleep(0.1)
    time.sleep(1.1)
    for moments in (traced, snapshots):
        inner, right_stack, right_flag = in_phase(moments, target.pid, Path(f"{target.counter}.phases"))
        assert inner >= 20
        assert right_stack >= 0.95 * inner
        assert right_flag >= 0.9 * inner


def test_a_snapshot_tells_who_holds_the_lock_and_the_line_it_stands_at(start: Starter) -> None:
    target = start("tiny")
    sampler = PySpySampler()
    owners = []
    for _ in range(10):
        thread = main_thread(good(sampler.snapshot(target.pid)).moments[0], target.pid)
        owners.append(thread.owns_gil)
    assert True in owners
    assert thread.frames[-1].source == "main()"
    assert thread.frames[-1].file.endswith("stack_targets.py")


NAMES = [f"python3.{minor}" for minor in range(8, 15)]
VERSIONS = [
    *(found for name in NAMES if (found := shutil.which(name)) is not None and "/shims/" not in found),
    *(str(path) for name in NAMES for path in sorted(Path.home().glob(f".pyenv/versions/*/bin/{name}"))),
]


@pytest.mark.parametrize("program", VERSIONS)
def test_each_python_that_is_here_is_read(start: Starter, program: str) -> None:
    works = subprocess.run([program, "-c", "import sys; print(sys.version_info[1])"], capture_output=True, check=False)
    if works.returncode:
        pytest.skip(f"{program} does not run here")
    target = start("threads", "--count", "3", python=program)
    sampler = PySpySampler()
    tids = {int(name) for name in os.listdir(f"/proc/{target.pid}/task")}
    for answer in (sampler.snapshot(target.pid), sampler.trace(target.pid, 10, 1.0)):
        moment = good(answer).moments[0]
        assert len(moment.threads) == 3
        assert {thread.tid for thread in moment.threads} <= tids
        assert "loop" in functions(main_thread(moment, target.pid))


def test_a_program_that_is_no_python_is_told() -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeping:
        answer = PySpySampler().snapshot(sleeping.pid)
        sleeping.kill()
    assert isinstance(answer, Refused)
    assert (answer.state, answer.final) == (states.NOT_PYTHON, True)
    assert "(sleep)" in answer.reason


def test_a_missing_or_a_broken_py_spy_is_told(tmp_path: Path, start: Starter) -> None:
    target = start("tiny")
    broken = tmp_path / "py-spy"
    broken.write_text("#!/bin/sh\necho '[1]'\n")
    broken.chmod(0o755)
    for answer in (
        PySpySampler(program=lambda: str(broken)).snapshot(target.pid),
        PySpySampler(program=lambda: str(broken)).trace(target.pid, 10, 0.5),
    ):
        assert isinstance(answer, Refused)
        assert answer.state == states.UNREADABLE


def test_a_py_spy_that_hangs_is_ended(tmp_path: Path, start: Starter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gapscope_agent.stacks.sampler.SNAPSHOT_LIMIT_SECONDS", 0.3)
    target = start("tiny")
    hanging = tmp_path / "py-spy"
    hanging.write_text("#!/bin/sh\ntrap '' INT TERM\nexec sleep 100\n")
    hanging.chmod(0o755)
    sampler = PySpySampler(program=lambda: str(hanging))
    for answer in (sampler.snapshot(target.pid), sampler.trace(target.pid, 10, 0.5)):
        assert isinstance(answer, Refused)
        assert answer.state == states.TOO_SLOW
    assert no_child_is_left()


def test_a_py_spy_that_ends_just_before_it_is_asked_to_keeps_its_cpu_time(tmp_path: Path) -> None:
    number = tmp_path / "number"
    busy = tmp_path / "py-spy"
    busy.write_text(
        f"#!{sys.executable}\nimport os, time\n"
        f"end = time.process_time() + 0.2\nwhile time.process_time() < end: pass\n"
        f"open({str(number)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    )
    busy.chmod(0o755)

    def go_on(_: float) -> bool:
        if not number.exists() or not number.read_text():
            return True
        pid = int(number.read_text())
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        return False

    run = pyspy.record(str(busy), os.getpid(), 10, 30, go_on)
    assert run.cut_short
    assert run.returncode == -signal.SIGKILL
    assert run.cpu_seconds >= 0.2
    assert no_child_is_left()


ELSEWHERE = """
import sys
from gapscope_agent.stacks.sampler import PySpySampler
answer = PySpySampler().snapshot(int(sys.argv[1]))
print(answer.state); print(answer.reason)
"""


def test_from_another_pid_namespace_the_reason_is_told(start: Starter) -> None:
    target = start("tiny")
    enter = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*enter, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no PID namespace can be made here; the imitated one stands in test_states")
    command = [*enter, sys.executable, "-c", ELSEWHERE, str(target.pid)]
    state, reason = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert state == states.INVISIBLE
    assert "--pid=host" in reason
