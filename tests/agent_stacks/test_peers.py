"""Who feeds a GPU's owner: real pipes, queues and sockets between real processes."""

from __future__ import annotations

import multiprocessing
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from gapscope_agent.stacks.messages import Facts, FactsFound, ProcessFacts
from gapscope_agent.stacks.peers import MAX_SHARED, peers, read_pairs, unix_socket_pairs
from gapscope_agent.stacks.process_facts import read_facts
from gapscope_agent.stacks.service import StackService
from gapscope_agent.stacks.targets import Targets

PROC = Path("/proc")


def facts(
    pid: int, *, pipes: tuple[int, ...] = (), outputs: tuple[int, ...] = (), sockets: tuple[int, ...] = ()
) -> ProcessFacts:
    return ProcessFacts(pid, pipes=list(pipes), outputs=list(outputs), sockets=list(sockets))


def test_both_ends_of_a_pipe_and_of_a_socket_belong_together() -> None:
    processes = [facts(1, pipes=(10,), sockets=(20,)), facts(2, pipes=(10,)), facts(3, sockets=(21,)), facts(4)]
    assert peers([1], processes, {20: 21, 21: 20}) == [2, 3]
    assert peers([1], processes, {}) == [2]


def test_who_writes_into_an_owner_feeds_it_and_who_reads_its_log_does_not() -> None:
    assert peers([1], [facts(1, pipes=(10,), outputs=(11,)), facts(2, outputs=(10,)), facts(3, pipes=(11,))], {}) == [2]
    assert peers([1], [facts(1, outputs=(11,)), facts(2, outputs=(11,))], {}) == []


def test_a_pipe_that_everybody_holds_feeds_nobody() -> None:
    processes = [facts(pid, pipes=(10,)) for pid in range(1, MAX_SHARED + 3)]
    assert peers([1], processes, {}) == []


def test_the_kernel_tells_which_sockets_belong_together() -> None:
    left, right = socket.socketpair()
    with left, right:
        mine = read_facts(PROC, os.getpid(), files=True)
        assert mine is not None
        pairs = unix_socket_pairs()
        ends = {os.fstat(left.fileno()).st_ino: os.fstat(right.fileno()).st_ino}
        assert ends.items() <= pairs.items()
        assert set(ends) <= set(mine.sockets)


@pytest.mark.parametrize("data", [b"", b"\x00" * 15, struct.pack("=IHHII", 4000, 20, 0, 0, 0), b"\xff" * 64])
def test_answers_of_the_kernel_that_are_cut_off_give_nothing(data: bytes) -> None:
    pairs: dict[int, int] = {}
    read_pairs(data, pairs)
    assert pairs == {}


def _feed(items: multiprocessing.Queue[int], gate: multiprocessing.Queue[int]) -> None:
    items.put(1)
    gate.get()


def test_a_process_at_the_other_end_of_a_queue_is_found_and_this_one_is_not_sampled() -> None:
    spawn = multiprocessing.get_context("spawn")
    items, gate = spawn.Queue(), spawn.Queue()
    feeder = spawn.Process(target=_feed, args=(items, gate))
    feeder.start()
    try:
        items.get(timeout=60)
        chosen = Targets(StackService()).choose(frozenset({feeder.pid or 0}), 0)
        assert chosen[0] == feeder.pid
        assert os.getpid() not in chosen
        mine, theirs = (read_facts(PROC, pid, files=True) for pid in (os.getpid(), feeder.pid or 0))
        assert mine is not None
        assert theirs is not None
        assert peers([theirs.pid], [mine, theirs], {}) == [mine.pid]
    finally:
        gate.put(0)
        feeder.join()
        for queue in (items, gate):
            queue.close()
            queue.join_thread()


def test_named_variables_are_told_and_no_others() -> None:
    environment = {"RANK": "3", "OMP_NUM_THREADS": "8", "AWS_SECRET_ACCESS_KEY": "secret", "MASTER_ADDR": "x" * 999}
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment
    ) as child:
        answer = StackService().answer(Facts([child.pid, 1 << 29], files=True))
        child.kill()
    assert isinstance(answer, FactsFound)
    (found,) = answer.processes
    assert found.environment == {"RANK": "3", "OMP_NUM_THREADS": "8", "MASTER_ADDR": "x" * 200}
    assert found.io is not None
    assert found.open_files == 3
    assert len(found.pipes) == 1
    assert found.missing == {}


def test_what_the_kernel_refuses_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "7"
    folder.mkdir()
    found = read_facts(tmp_path, 7, files=True)
    assert found is not None
    assert set(found.missing) == {"io", "environment", "open_files"}
    assert read_facts(tmp_path, 8, files=True) is None
