"""The helper's socket: who is let in, what ends a connection, and what it can and cannot do once it runs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gapscope_agent.stacks import states
from gapscope_agent.stacks.access import HelperAccess
from gapscope_agent.stacks.framing import receive
from gapscope_agent.stacks.helper import Helper, HelperError
from gapscope_agent.stacks.messages import (
    MAX_ANSWER_BYTES,
    MAX_REQUEST_BYTES,
    Facts,
    FactsFound,
    Refused,
    Sampled,
    Snapshot,
    Trace,
    decode_answer,
    encode_message,
)
from gapscope_agent.stacks.service import StackService
from tests.agent_stacks.conftest import Starter, sampled, until

ME = os.geteuid()
OTHER = 4242
root_only = pytest.mark.skipif(ME != 0, reason="needs to become another user")


class FakeSampler:
    def snapshot(self, pid: int) -> Sampled | Refused:
        return sampled(pid)

    def trace(self, pid: int, rate_hertz: int, seconds: float) -> Sampled | Refused:
        return sampled(pid * rate_hertz)

    def stop(self) -> None:
        return


Listen = Callable[[frozenset[int]], Path]


@contextlib.contextmanager
def asking(path: Path) -> Iterator[HelperAccess]:
    access = HelperAccess(path)
    try:
        yield access
    finally:
        access.stop()


def answers(path: Path) -> bool:
    with asking(path) as access:
        return access.answer(Snapshot(3)) == sampled(3)


@pytest.fixture
def listen(tmp_path: Path) -> Iterator[Listen]:
    helpers: list[tuple[Helper, threading.Thread]] = []

    def begin(users: frozenset[int]) -> Path:
        path = tmp_path / "stacks.sock"
        helper = Helper(path, users, StackService(FakeSampler()))
        helper.listen()
        thread = threading.Thread(target=helper.serve)
        thread.start()
        helpers.append((helper, thread))
        return path

    yield begin
    for helper, thread in helpers:
        helper.stop()
        thread.join()


def test_requests_are_answered_one_after_another_on_one_connection(listen: Listen) -> None:
    with asking(listen(frozenset({ME}))) as access:
        assert access.answer(Snapshot(3)) == sampled(3)
        assert access.answer(Trace(3, 10, 1.0)) == sampled(30)
        found = access.answer(Facts([os.getpid()]))
        assert access.why_not() is None
    assert isinstance(found, FactsFound)
    assert [facts.pid for facts in found.processes] == [os.getpid()]


def test_another_user_is_refused_before_a_byte_is_read(listen: Listen) -> None:
    with asking(listen(frozenset({ME + 1}))) as access:
        answer = access.answer(Snapshot(3))
        assert isinstance(answer, Refused)
        assert answer.state == states.NO_HELPER
        assert f"does it allow user {ME}" in answer.reason
        assert access.why_not() == answer.reason


def test_no_helper_is_told_and_one_that_comes_back_is_found(listen: Listen, tmp_path: Path) -> None:
    with asking(tmp_path / "stacks.sock") as access:
        answer = access.answer(Snapshot(3))
        assert isinstance(answer, Refused)
        assert "No such file" in answer.reason
        listen(frozenset({ME}))
        assert access.answer(Snapshot(3)) == sampled(3)


def test_a_socket_that_was_left_behind_is_replaced_and_a_file_is_not(tmp_path: Path) -> None:
    path = tmp_path / "stacks.sock"
    for _ in range(2):
        helper = Helper(path, {ME}, StackService(FakeSampler()))
        helper.listen()
        assert helper._listening is not None
        helper._listening.close()  # as a kill would
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(HelperError, match="cannot listen"):
        Helper(file, {ME}, StackService(FakeSampler())).listen()
    assert file.read_text() == "mine"


def test_many_threads_one_after_another_need_one_connection(tmp_path: Path) -> None:
    helper = Helper(tmp_path / "stacks.sock", {ME}, StackService(FakeSampler()))
    helper.listen()
    serving = threading.Thread(target=helper.serve)
    serving.start()
    with asking(tmp_path / "stacks.sock") as access:
        for _ in range(20):
            thread = threading.Thread(target=access.answer, args=(Snapshot(3),))
            thread.start()
            thread.join()
        open_connections = len(helper._peers)
    helper.stop()
    serving.join()
    assert open_connections == 1


def test_a_helper_that_was_started_anew_is_found_by_connections_from_before(tmp_path: Path) -> None:
    path = tmp_path / "stacks.sock"
    with asking(path) as access:
        for _ in range(2):
            helper = Helper(path, {ME}, StackService(FakeSampler()))
            helper.listen()
            serving = threading.Thread(target=helper.serve)
            serving.start()
            assert access.answer(Snapshot(3)) == sampled(3)
            helper.stop()
            serving.join()


def talk(path: Path, data: bytes) -> bytes:
    """Send bytes, say that no more come, and read what comes back."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.settimeout(30)
        peer.connect(str(path))
        try:
            peer.sendall(data)
            peer.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: peer.recv(1 << 16), b""))
        except (BrokenPipeError, ConnectionResetError):
            return b""


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


@pytest.mark.parametrize(
    "data",
    [
        b"\x00",
        b"\x00\x00\x00\x00",
        b"\xff\xff\xff\xff",
        (MAX_REQUEST_BYTES + 1).to_bytes(4, "big"),
        framed(b"\xc1"),
        framed(b"\x80"),
        framed(b"\x91" * 10_000),
        framed(encode_message({"ask": "snapshot", "pid": 0})),
        framed(encode_message({"ask": "snapshot", "pid": "1; rm"})),
        framed(encode_message({"ask": "trace", "pid": 1, "rate_hertz": 10_000, "seconds": 1})),
        framed(encode_message({"ask": "trace", "pid": 1, "rate_hertz": 10, "seconds": 1e9})),
        framed(encode_message({"ask": "facts", "pids": list(range(1, 300))})),
        framed(encode_message({"ask": "write", "path": "/etc/passwd"})),
        framed(encode_message(Snapshot(3)))[:-1],
    ],
)
def test_a_request_that_is_none_ends_its_connection_and_nothing_else(listen: Listen, data: bytes) -> None:
    path = listen(frozenset({ME}))
    assert talk(path, data) == b""
    assert answers(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_survived(listen: Listen, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "stacks.sock"
    if not path.exists():
        listen(frozenset({ME}))
    talk(path, data)
    assert answers(path)


def test_a_helper_that_answers_nonsense_is_told_as_one_that_does_not_answer(tmp_path: Path) -> None:
    path = tmp_path / "other.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def serve() -> None:
            for answer in (framed(b"\xc1"), (MAX_ANSWER_BYTES + 1).to_bytes(4, "big")):
                connection, _ = listening.accept()
                with connection:
                    receive(connection, MAX_REQUEST_BYTES)
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with asking(path) as access:
            answers = [access.answer(Snapshot(3)) for _ in range(2)]
        thread.join()
    assert [answer.state for answer in answers if isinstance(answer, Refused)] == [states.NO_HELPER] * 2


@pytest.fixture
def real_helper() -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """``gapscope stack-helper`` as it is run, for this user and another one, who can reach its folder."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "stacks.sock"
        words = [sys.executable, "-m", "gapscope_backend.cli.main", "stack-helper", "--socket", str(path)]
        words += ["--allow-user", str(ME), "--allow-user", str(OTHER)]
        with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
            try:
                with asking(path) as access:
                    until(lambda: path.exists() and access.why_not() is None)
                yield process, path
            finally:
                process.terminate()
        assert process.returncode == 0
        assert not path.exists()


@root_only
def test_the_helper_keeps_two_capabilities_and_no_network(real_helper: tuple[subprocess.Popen[bytes], Path]) -> None:
    process, _ = real_helper
    status = Path(f"/proc/{process.pid}/status").read_text()
    sets = dict(re.findall(r"Cap(Inh|Prm|Eff|Bnd|Amb):\s*([0-9a-f]+)", status))
    assert {name: int(value, 16) for name, value in sets.items()} == dict.fromkeys(sets, 1 << 19 | 1 << 2)
    assert "NoNewPrivs:\t1" in status
    assert os.readlink(f"/proc/{process.pid}/ns/net") != os.readlink("/proc/self/ns/net")


ASK = """
import json, sys
from pathlib import Path
import msgspec
from gapscope_agent.stacks.access import HelperAccess
from gapscope_agent.stacks.messages import Facts, Snapshot
from gapscope_agent.stacks.service import StackService
for access in (StackService(), HelperAccess(Path(sys.argv[1]))):
    for request in (Snapshot(int(sys.argv[2])), Facts([int(sys.argv[2])], files=True)):
        print(json.dumps(msgspec.to_builtins(access.answer(request))))
"""


@root_only
def test_a_user_without_rights_gets_stacks_of_root_through_the_helper_only(
    real_helper: tuple[subprocess.Popen[bytes], Path], start: Starter
) -> None:
    _, path = real_helper
    target = start("tiny")
    command = ["setpriv", "--reuid", str(OTHER), "--clear-groups", "--inh-caps", "-all", "--bounding-set", "-all"]
    said = subprocess.run(
        [*command, sys.executable, "-c", ASK, str(path), str(target.pid)], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    alone, alone_facts, helped, helped_facts = map(json.loads, said.stdout.splitlines())
    assert (alone["answer"], alone["state"]) == ("refused", states.NO_PERMISSION)
    assert "belongs to user 0 and CAP_SYS_PTRACE is missing" in alone["reason"]
    assert set(alone_facts["processes"][0]["missing"]) == {"io", "environment", "open_files"}
    assert helped["answer"] == "sampled"
    functions = {frame["function"] for t in helped["moments"][0]["threads"] for frame in t["frames"]}
    assert "loop" in functions
    assert helped_facts["processes"][0]["io"]["rchar"] > 0
    assert "missing" not in helped_facts["processes"][0]


def test_answers_decode_as_what_they_were() -> None:
    assert decode_answer(encode_message(sampled(4))) == sampled(4)
