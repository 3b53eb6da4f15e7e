"""Why a process is not sampled: kernels and containers imitated by a folder in place of /proc."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gapscope_agent.stacks import states
from gapscope_agent.stacks.states import HOST_PID_NAMESPACE, SystemView, after_failure, before_sampling, check_version
from tests.agent_sources.fakes import FakeProc

DENIED = "Permission Denied: Try running again with elevated permissions"
PTRACE = 1 << states.CAP_SYS_PTRACE


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    """Process 50 is a Python of this user; this side has no capability, the host's PID namespace, and no Yama."""
    fake = FakeProc(tmp_path)
    fake.add(50, 1)
    write_status(fake, "50", f"Uid:\t{os.geteuid()}\t{os.geteuid()}\t0\t0\n")
    write_status(fake, "self", "CapEff:\t0000000000000000\n")
    for who in ("self", "50"):
        link(fake, f"{who}/ns/user", "user:[4026531837]")
        link(fake, f"{who}/ns/pid", f"pid:[{HOST_PID_NAMESPACE}]")
    link(fake, "50/exe", "/usr/bin/python3.11")
    return fake


def write_status(fake: FakeProc, who: str, text: str) -> None:
    fake.write(f"{who}/status", text)


def link(fake: FakeProc, path: str, target: str) -> None:
    place = fake.root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(target)


def refused(fake: FakeProc, said: str = DENIED) -> tuple[str, str, bool]:
    found = after_failure(SystemView(fake.root), 50, said)
    return found.state, found.reason, found.final


@pytest.mark.parametrize(
    ("scope", "what"),
    [
        ("1", "ptrace_scope is 1: only a parent"),
        ("2", "ptrace_scope is 2: only CAP_SYS_PTRACE"),
        ("3", "ptrace_scope is 3: nobody"),
    ],
)
def test_yama_is_named_with_its_scope(proc: FakeProc, scope: str, what: str) -> None:
    proc.write("sys/kernel/yama/ptrace_scope", f"{scope}\n")
    state, reason, final = refused(proc)
    assert (state, final) == (states.NO_PERMISSION, False)
    assert what in reason
    assert ("stack-helper" in reason) == (scope != "3")


def test_scope_3_holds_even_with_the_capability(proc: FakeProc) -> None:
    proc.write("sys/kernel/yama/ptrace_scope", "3\n")
    write_status(proc, "self", f"CapEff:\t{PTRACE:016x}\n")
    assert "until the machine is booted anew" in refused(proc)[1]


def test_a_process_of_another_user_needs_the_capability(proc: FakeProc) -> None:
    other = os.geteuid() + 1
    write_status(proc, "50", f"Uid:\t{other}\t{other}\t0\t0\n")
    reason = refused(proc)[1]
    assert f"belongs to user {other} and CAP_SYS_PTRACE is missing" in reason
    write_status(proc, "self", f"CapEff:\t{PTRACE:016x}\n")
    assert "although CAP_SYS_PTRACE is held" in refused(proc)[1]


def test_an_own_process_that_is_not_dumpable(proc: FakeProc) -> None:
    assert "not dumpable" in refused(proc)[1]


def test_another_user_namespace_is_named(proc: FakeProc) -> None:
    link(proc, "50/ns/user", "user:[4026532999]")
    assert "another user namespace" in refused(proc)[1]


def test_another_pid_namespace_is_named(proc: FakeProc) -> None:
    link(proc, "self/ns/pid", "pid:[4026532888]")
    found = before_sampling(SystemView(proc.root), 51)
    assert found is not None
    assert (found.state, found.final) == (states.INVISIBLE, False)
    assert "--pid=host" in found.reason


def test_a_process_that_ended(proc: FakeProc) -> None:
    found = before_sampling(SystemView(proc.root), 51)
    assert found is not None
    assert (found.state, found.final) == (states.ENDED, True)
    proc.write("50/stat", proc.stat(50, 1, "(python)", 1).replace(") S", ") Z"))
    assert refused(proc)[0] == states.ENDED


@pytest.mark.parametrize("letter", ["T", "t"])
def test_a_process_that_is_stopped_is_left_alone(proc: FakeProc, letter: str) -> None:
    proc.write("50/stat", proc.stat(50, 1, "(python)", 1).replace(") S", f") {letter}"))
    found = before_sampling(SystemView(proc.root), 50)
    assert found is not None
    assert (found.state, found.final) == (states.STOPPED, False)


def test_a_program_that_is_no_python(proc: FakeProc) -> None:
    link(proc, "50/exe", "/opt/bin/trainer")
    state, reason, final = refused(proc, "Error: Bad address (os error 14)")
    assert (state, final) == (states.NOT_PYTHON, True)
    assert "(trainer) is no CPython process" in reason


def test_a_program_that_embeds_python_is_told_by_its_libraries(proc: FakeProc) -> None:
    link(proc, "50/exe", "/opt/bin/trainer")
    proc.write("50/maps", "7f00-7f01 r-xp 0 08:01 1    /opt/lib/libpython3.7m.so.1.0\n")
    state, reason, _ = refused(proc, "Error: no symbols")
    assert state == states.UNSUPPORTED
    assert "Python 3.7 is not supported: 3.8 to 3.14 are" in reason


@pytest.mark.parametrize(("version", "good"), [((2, 7), False), ((3, 8), True), ((3, 14), True), ((3, 15), False)])
def test_versions(version: tuple[int, int], good: bool) -> None:
    assert (check_version(version) is None) is good


def test_what_py_spy_said_is_told_where_nothing_else_explains_it(proc: FakeProc) -> None:
    state, reason, final = refused(proc, "\nError: Failed to find a thing\nStack backtrace:")
    assert (state, final) == (states.UNREADABLE, False)
    assert reason.endswith("Error: Failed to find a thing")
