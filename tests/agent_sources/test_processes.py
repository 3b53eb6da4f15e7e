"""The process tree, its details and control groups: a stand-in tree, and this very process."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from gapscope_agent.reading import Process, Processes, ProcessIo
from gapscope_agent.sources import thread_cpu
from gapscope_agent.sources.base import Context
from gapscope_agent.sources.cgroup_cpu import RESOLVE_LOOKS, CgroupReader
from gapscope_agent.sources.proc_files import read_bytes
from gapscope_agent.sources.process_table import ProcessTable
from gapscope_agent.sources.processes import ProcessTree
from gapscope_agent.stacks.messages import ProcessFacts
from tests.agent_sources.fakes import FakeProc

T = 1_700_000_000_000_000_000
TICK = 200_000_000


def tree(proc: FakeProc, *owners: int) -> ProcessTree:
    context = Context(proc=proc.root, cgroup=proc.root / "cgroup")
    context.owners.replace(0, owners)
    source = ProcessTree(context)
    source.open()
    return source


def look(source: ProcessTree, tick: int) -> dict[int, Process]:
    (reading,) = source.sample(T + tick * TICK, tick * TICK)
    assert isinstance(reading, Processes)
    return {process.pid: process for process in reading.processes}


def family(proc: FakeProc, *owners: int, limit: int = 100) -> list[int]:
    table = ProcessTable(proc.root)
    table.refresh()
    return table.family(owners, limit)


def test_family_is_owners_descendants_and_launchers(proc: FakeProc) -> None:
    proc.add(1, 0, "/sbin/init\0")
    proc.add(50, 1, "bash\0")
    proc.add(100, 50, "/usr/bin/python3\0torchrun\0")
    proc.add(101, 100)
    proc.add(102, 100)
    proc.add(103, 101)
    proc.add(200, 1, "/usr/sbin/sshd\0")
    proc.add(300, 50, "python\0other.py\0")
    assert family(proc, 101) == [101, 103, 100, 102]
    assert family(proc, 101, limit=2) == [101, 103]
    assert family(proc, 999) == []


def test_a_loop_of_parents_ends(proc: FakeProc) -> None:
    proc.add(5, 6)
    proc.add(6, 5)
    assert sorted(family(proc, 5)) == [5, 6]


def test_fast_looks_are_lean_and_details_come_once_a_second(proc: FakeProc) -> None:
    proc.add(10, 1, "python\0train.py\0--token\0abc\0", jiffies=33)
    source = tree(proc, 10)
    detailed = [look(source, tick)[10] for tick in range(6)]
    assert [process.command is not None for process in detailed] == [True, False, False, False, False, True]
    first = detailed[0]
    assert (first.user_jiffies, first.system_jiffies, first.threads) == (33, 5, 2)
    assert (first.rss_pages, first.block_io_delay_jiffies, first.start_jiffies) == (4096, 9, 777)
    assert (first.voluntary_switches, first.involuntary_switches) == (11, 3)
    assert first.command == "python train.py --token [redacted]"
    assert first.io is not None
    assert first.io.read_bytes == 3
    assert first.user is not None
    assert first.thread_cpu is not None
    (thread,) = first.thread_cpu
    assert (thread.name, thread.last_cpu, thread.run_ns, thread.run_delay_ns) == ("worker (a) b", 3, 1000, 500)
    assert (thread.voluntary_switches, thread.involuntary_switches) == (5, 6)
    assert first.missing == {"cgroup": "the kernel does not tell: No such file or directory"}
    source.close()


def test_new_children_are_found_and_the_dead_are_left_out(proc: FakeProc) -> None:
    proc.add(10, 1)
    proc.add(11, 10)
    source = tree(proc, 10)
    assert set(look(source, 0)) == {10, 11}
    proc.add(12, 11)
    proc.remove(11)
    assert set(look(source, 5)) == {10}
    source.close()


def test_a_process_that_ends_between_looks_is_no_error(proc: FakeProc) -> None:
    proc.add(10, 1)
    proc.add(11, 10)
    source = tree(proc, 10)
    look(source, 0)
    proc.write("11/stat", "")
    assert set(look(source, 1)) == {10}
    source.close()


def test_without_owners_the_busiest_stand_in(proc: FakeProc) -> None:
    for pid in range(100, 130):
        proc.add(pid, 1, f"job{pid}\0", jiffies=pid)
    proc.add(3, 2, "", jiffies=10_000)
    source = tree(proc)
    assert set(look(source, 0)) == set(range(115, 130))
    proc.write("101/stat", proc.stat(101, 1, "(job)", 5000))
    assert 101 not in look(source, 5)
    assert 101 in look(source, 25)
    source.close()


def test_what_another_user_owns_has_a_reason(proc: FakeProc, monkeypatch: pytest.MonkeyPatch) -> None:
    proc.add(10, 1)

    def refuse_io(path: str | Path) -> bytes:
        if str(path).endswith("/io"):
            raise PermissionError(13, "Permission denied")
        return read_bytes(path)

    monkeypatch.setattr("gapscope_agent.sources.tracked_process.read_bytes", refuse_io)
    source = tree(proc, 10)
    process = look(source, 0)[10]
    assert process.io is None
    assert "another user" in process.missing["io"]
    source.close()


def test_a_side_with_more_rights_tells_io_each_second_and_the_environment_once(
    proc: FakeProc, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[int]] = []

    def refuse(path: str | Path) -> bytes:
        if str(path).endswith("/5/io"):
            raise PermissionError(13, "Permission denied")
        return read_bytes(path)

    def tell(pids: list[int]) -> list[ProcessFacts]:
        asked.append(pids)
        return [ProcessFacts(pid, io=ProcessIo(7, 8, 9, 10), environment={"RANK": "3"}) for pid in pids]

    monkeypatch.setattr("gapscope_agent.sources.tracked_process.read_bytes", refuse)
    proc.add(5, 1)
    proc.add(6, 5)
    context = Context(proc=proc.root, cgroup=proc.root / "cgroup", facts=tell)
    context.owners.replace(0, [5])
    source = ProcessTree(context)
    source.open()
    first, between, second = look(source, 0), look(source, 1), look(source, 5)
    assert first[5].io == ProcessIo(7, 8, 9, 10)
    assert "io" not in first[5].missing
    assert first[6].io == ProcessIo(1, 2, 3, 4)
    assert [looked[5].environment for looked in (first, between, second)] == [{"RANK": "3"}, None, None]
    assert asked == [[5, 6], [5]]
    source.close()


def test_a_thread_that_did_not_run_is_not_read_again(proc: FakeProc, monkeypatch: pytest.MonkeyPatch) -> None:
    proc.add(10, 1)
    proc.add_thread(10, 12, run_ns=5)
    source = tree(proc, 10)
    look(source, 0)
    asked = []

    def note(path: str | Path) -> bytes:
        asked.append(str(path).rpartition("/task/")[2])
        return read_bytes(path)

    monkeypatch.setattr("gapscope_agent.sources.thread_cpu.read_bytes", note)
    proc.add_thread(10, 12, run_ns=6, jiffies=99)
    threads = look(source, 5)[10].thread_cpu
    assert threads is not None
    assert [(thread.tid, thread.user_jiffies) for thread in threads] == [(10, 10), (12, 99)]
    assert asked == ["10/schedstat", "12/schedstat", "12/stat", "12/status"]
    source.close()


def test_too_many_threads_are_cut_off_with_a_reason(proc: FakeProc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_cpu, "MAX_THREADS", 2)
    proc.add(10, 1)
    for tid in (11, 12):
        proc.add_thread(10, tid)
    source = tree(proc, 10)
    process = look(source, 0)[10]
    assert process.thread_cpu is not None
    assert [thread.tid for thread in process.thread_cpu] == [10, 11]
    assert process.missing["thread_cpu"] == "only the first 2 of 3 threads are read"
    source.close()


def test_open_files_are_given_back(proc: FakeProc) -> None:
    proc.add(10, 1)
    before = len(os.listdir("/proc/self/fd"))
    source = tree(proc, 10)
    look(source, 0)
    assert len(os.listdir("/proc/self/fd")) == before + 2
    proc.remove(10)
    look(source, 5)
    assert len(os.listdir("/proc/self/fd")) == before
    source.close()


def test_cgroup_2_quota_is_found_above_the_process(proc: FakeProc) -> None:
    stat = "usage_usec 9\nuser_usec 1\nnr_periods 4\nnr_throttled 2\nthrottled_usec 77\n"
    proc.write("cg/pod/cpu.stat", stat)
    proc.write("cg/pod/cpu.max", "150000 100000\n")
    proc.write("cg/pod/box/cpu.stat", "usage_usec 1\n")
    proc.write("cg/pod/box/cpu.max", "max 100000\n")
    group = CgroupReader(proc.root / "cg").read(b"0::/pod/box\n")
    assert group is not None
    assert (group.path, group.quota_cores, group.usage_us) == ("/pod", 1.5, 9)
    assert (group.periods, group.throttled_periods, group.throttled_us) == (4, 2, 77)


def test_cgroup_2_without_a_quota_is_the_process_own(proc: FakeProc) -> None:
    proc.write("cg/pod/cpu.stat", "usage_usec 1\n")
    reader = CgroupReader(proc.root / "cg")
    group = reader.read(b"0::/pod\n")
    assert group is not None
    assert (group.path, group.quota_cores, group.periods) == ("/pod", None, 0)
    proc.write("cg/pod/cpu.stat", "usage_usec 2\n")
    assert reader.read(b"0::/pod\n") == group
    reader.begin_look()
    again = reader.read(b"0::/pod\n")
    assert again is not None
    assert again.usage_us == 2


def test_a_quota_set_later_is_noticed(proc: FakeProc) -> None:
    proc.write("cg/pod/cpu.stat", "usage_usec 1\n")
    reader = CgroupReader(proc.root / "cg")
    quotas = []
    for number in range(2 * RESOLVE_LOOKS):
        reader.begin_look()
        group = reader.read(b"0::/pod\n")
        assert group is not None
        quotas.append(group.quota_cores)
        if number == 0:
            proc.write("cg/pod/cpu.max", "200000 100000\n")
    assert quotas == [None] * RESOLVE_LOOKS + [2.0] * RESOLVE_LOOKS


def test_cgroup_1_is_read(proc: FakeProc) -> None:
    folder = "cg/cpu,cpuacct/job"
    proc.write(f"{folder}/cpu.stat", "nr_periods 4\nnr_throttled 2\nthrottled_time 77000\n")
    proc.write(f"{folder}/cpu.cfs_quota_us", "50000\n")
    proc.write(f"{folder}/cpu.cfs_period_us", "100000\n")
    proc.write(f"{folder}/cpuacct.usage", "5000\n")
    group = CgroupReader(proc.root / "cg").read(b"4:memory:/x\n3:cpu,cpuacct:/job\n0::/\n")
    assert group is not None
    assert (group.path, group.quota_cores, group.usage_us, group.throttled_us) == ("/job", 0.5, 5, 77)


def test_this_process_is_read() -> None:
    context = Context()
    context.owners.replace(0, [os.getpid()])
    source = ProcessTree(context)
    source.open()
    waiting = threading.Event()
    thread = threading.Thread(target=waiting.wait, name="waiting")
    thread.start()
    try:
        process = look(source, 0)[os.getpid()]
    finally:
        waiting.set()
        thread.join()
        source.close()
    assert process.parent_pid == os.getppid()
    assert process.rss_pages > 100
    assert process.command is not None
    assert process.io is not None
    assert process.io.rchar > 0
    assert process.thread_cpu is not None
    assert {os.getpid(), thread.native_id} <= {t.tid for t in process.thread_cpu}
