"""The sources that ask the kernel: stand-in trees for the odd cases, this host for the real ones."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import psutil
import pytest

from gapscope_agent.errors import SourceUnavailableError
from gapscope_agent.reading import Cpu, Host, Reading
from gapscope_agent.sources.base import Context
from gapscope_agent.sources.cpu import CpuJiffies
from gapscope_agent.sources.host import HostFigures, read_pressure
from tests.agent_sources.fakes import FakeProc

T = 1_700_000_000_000_000_000


def only(readings: Sequence[Reading]) -> Any:
    (reading,) = readings
    return reading


def cpu_source(proc: FakeProc) -> CpuJiffies:
    source = CpuJiffies(Context(proc=proc.root))
    source.open()
    return source


def test_cpu_gives_eight_counters_a_core(proc: FakeProc) -> None:
    proc.write(
        "stat", "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu1 11 12 13 14 15 16 17 18 19 20\nintr 5\n"
    )
    source = cpu_source(proc)
    reading = only(source.sample(T, 5))
    assert reading == Cpu(t=T, mono=5, jiffies=[[1, 2, 3, 4, 5, 6, 7, 8], [11, 12, 13, 14, 15, 16, 17, 18]])
    source.close()


def test_an_offline_core_keeps_the_place_of_the_others(proc: FakeProc) -> None:
    proc.write("stat", "cpu  0\ncpu0 1 0 0 0 0 0 0 0\ncpu1 2 0 0 0 0 0 0 0\ncpu2 3 0 0 0 0 0 0 0\n")
    source = cpu_source(proc)
    source.sample(T, 0)
    proc.write("stat", "cpu  0\ncpu0 5 0 0 0 0 0 0 0\ncpu2 7 0 0 0 0 0 0 0\n")
    assert [core[0] for core in only(source.sample(T, 1)).jiffies] == [5, 2, 7]
    source.close()


def test_a_long_stat_file_is_read_whole(proc: FakeProc) -> None:
    cores = "".join(f"cpu{core} {core} 0 0 0 0 0 0 0 0 0\n" for core in range(2000))
    proc.write("stat", f"cpu  0\n{cores}intr {'0 ' * 50_000}\n")
    source = cpu_source(proc)
    assert [core[0] for core in only(source.sample(T, 0)).jiffies] == list(range(2000))
    source.close()


def test_cpu_without_proc_is_unavailable(proc: FakeProc) -> None:
    with pytest.raises(SourceUnavailableError, match="stat cannot be opened"):
        cpu_source(proc)


def test_pressure_is_parsed(proc: FakeProc) -> None:
    line = "some avg10=0.00 avg60=0.00 avg300=0.00 total=123\n"
    proc.write("pressure/cpu", line)
    proc.write("pressure/memory", line + line.replace("some", "full").replace("123", "45"))
    proc.write("pressure/io", line)
    found = read_pressure(proc.root)
    assert [(p.resource, p.some_us, p.full_us) for p in found] == [
        ("cpu", 123, None),
        ("memory", 123, 45),
        ("io", 123, None),
    ]


def test_each_group_of_the_host_degrades_alone(proc: FakeProc, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(psutil, "swap_memory", refuse)
    reading = only(HostFigures(Context(proc=proc.root)).sample(T, 0))
    assert isinstance(reading, Host)
    assert reading.memory_total_bytes is not None
    assert reading.swap_total_bytes is None
    assert reading.missing["swap_in_bytes"] == "the kernel does not tell: Permission denied"
    assert reading.missing["pressure"] == "the kernel does not tell: No such file or directory"
    assert reading.pressure == []


def test_this_host_answers() -> None:
    source = CpuJiffies(Context())
    source.open()
    first = only(source.sample(T, 0))
    second = only(source.sample(T + 1, 1))
    source.close()
    assert len(first.jiffies) >= len(os.sched_getaffinity(0))
    assert all(len(core) == 8 for core in first.jiffies)
    assert sum(map(sum, second.jiffies)) >= sum(map(sum, first.jiffies)) > 0
    host = only(HostFigures(Context()).sample(T, 0))
    assert host.memory_total_bytes > host.memory_available_bytes > 0
    assert "memory_total_bytes" not in host.missing
    assert all(network.name != "lo" for network in host.networks)
