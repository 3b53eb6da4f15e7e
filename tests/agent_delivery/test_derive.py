"""The deriver on readings made by hand: names, units, labels, reasons, and what is forgotten."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gapscope_agent.derive import Derived, DerivedGroup, Deriver
from gapscope_agent.reading import (
    CgroupCpu,
    Cpu,
    Disk,
    Gpu,
    GpuHealth,
    GpuPowerBuffer,
    GpuProcess,
    GpuProcesses,
    GpuProcessUtilization,
    GpuViolation,
    GpuXid,
    Host,
    Origin,
    PowerSample,
    Pressure,
    Process,
    Processes,
    ProcessIo,
    SourceState,
    ThreadCpu,
)

S = 1_000_000_000
START = 1_800_000_000 * S


def find(derived: Derived, entity: str, metric: str) -> DerivedGroup:
    (group,) = [g for g in derived.groups if g.entity == entity and metric in g.values]
    return group


def values(derived: Derived, entity: str, metric: str) -> list[float]:
    return [round(v, 6) for v in find(derived, entity, metric).values[metric].tolist()]


def labels(derived: Derived, key: str) -> dict[str, str]:
    (entity,) = [e for e in derived.entities if e.key == key]
    return entity.labels


def process(pid: int, jiffies: int, parent: int = 1, **more: object) -> Process:
    base = {"state": "R", "system_jiffies": 0, "threads": 1, "rss_pages": 10}
    return Process(pid=pid, parent_pid=parent, user_jiffies=jiffies, **{**base, **more})  # type: ignore[arg-type]


def test_gpu_counters_become_ratios_and_bytes_and_a_null_has_its_reason(origin: Origin) -> None:
    deriver = Deriver(origin)
    gpm = {"graphics_util_pct": 50.0, "dram_bandwidth_util_pct": None, "pcie_rx_mib_per_second": 2.0}
    missing = {"memory_used_bytes": "not supported"}
    deriver.feed(Gpu(t=START, gpu=0, gpm=gpm, power_milliwatts=123_400, sm_clock_mhz=1980, missing=missing))
    deriver.feed(Gpu(t=START + S, gpu=0, gpm={"graphics_util_pct": 100.4}))
    deriver.feed(Gpu(t=START + 2 * S, gpu=0, gpm={"graphics_util_pct": 9e9}))
    derived = deriver.drain()
    group = find(derived, "gpu:GPU-a", "gpu_graphics_active_ratio")
    assert group.values["gpu_graphics_active_ratio"][:2].tolist() == [0.5, 1.0]
    assert group.reasons["gpu_graphics_active_ratio"] == {2: "implausible"}
    assert group.values["pcie_rx_bytes_per_second"][0] == pytest.approx(2 * 1048576 * 256 / 276)
    assert group.values["gpu_power_watts"][0] == pytest.approx(123.4)
    assert group.values["gpu_sm_clock_hertz"][0] == 1.98e9
    assert math.isnan(group.values["gpu_dram_active_ratio"][0])
    assert group.reasons["gpu_dram_active_ratio"][0] == "no_number"
    assert group.reasons["gpu_memory_used_bytes"][0] == "not supported"
    assert "gpu_tensor_active_ratio" not in group.values


def test_counters_that_are_all_zero_were_not_renewed_and_are_no_idle_time(origin: Origin) -> None:
    deriver = Deriver(origin)
    deriver.feed(Gpu(t=START, gpu=0, gpm={"graphics_util_pct": 50.0, "pcie_rx_mib_per_second": 2.0}))
    deriver.feed(Gpu(t=START + S, gpu=0, gpm={"graphics_util_pct": 0.0, "pcie_rx_mib_per_second": 0.0}))
    deriver.feed(Gpu(t=START + 2 * S, gpu=0, gpm={"graphics_util_pct": 0.0, "pcie_rx_mib_per_second": 1.0}))
    group = find(deriver.drain(), "gpu:GPU-a", "gpu_graphics_active_ratio")
    assert [None if math.isnan(v) else v for v in group.values["gpu_graphics_active_ratio"]] == [0.5, None, 0.0]
    assert group.reasons["gpu_graphics_active_ratio"] == {1: "counters_not_renewed"}


def test_a_gpu_without_counters_says_why_for_each_series(origin: Origin) -> None:
    deriver = Deriver(origin)
    deriver.feed(Gpu(t=START, gpu=0, power_milliwatts=1, missing={"gpm": "needs Hopper or newer"}))
    group = find(deriver.drain(), "gpu:GPU-a", "gpu_graphics_active_ratio")
    assert group.reasons["gpu_sm_active_ratio"] == {0: "needs Hopper or newer"}


def test_buffer_samples_keep_their_own_times_once_and_none_from_before_the_start(origin: Origin) -> None:
    deriver = Deriver(origin)
    us = START // 1000

    def drain(t: int, *at: int) -> GpuPowerBuffer:
        return GpuPowerBuffer(t=t, gpu=0, samples=[PowerSample(t_us=us + a, power_milliwatts=a) for a in at])

    deriver.feed(drain(START + S, -20_000, 20_000, 40_000))
    deriver.feed(drain(START + 2 * S, 20_000, 40_000, 60_000, 60_000))
    group = find(deriver.drain(), "gpu:GPU-a", "gpu_power_fine_watts")
    assert ((group.times - START) // 1_000_000).tolist() == [20, 40, 60]
    deriver.feed(drain(START + 3 * S, 40_000, 60_000, 80_000))
    again = find(deriver.drain(), "gpu:GPU-a", "gpu_power_fine_watts")
    assert ((again.times - START) // 1_000_000).tolist() == [80]


def test_jiffies_become_busy_ratios_and_cores(origin: Origin) -> None:
    deriver = Deriver(origin)
    deriver.feed(Cpu(t=START, jiffies=[[0] * 8, [100] * 8]))
    deriver.feed(Cpu(t=START + S, jiffies=[[50, 0, 25, 15, 10, 0, 0, 0], [100, 100, 100, 200, 100, 100, 100, 100]]))
    deriver.feed(Cpu(t=START + 2 * S, jiffies=[[0] * 8, [100, 100, 100, 300, 100, 100, 100, 100]]))
    derived = deriver.drain()
    busy = find(derived, "core:0", "cpu_core_busy_ratio")
    assert busy.values["cpu_core_busy_ratio"][0] == pytest.approx(0.75)
    assert busy.reasons["cpu_core_busy_ratio"] == {1: "counter_reset"}
    assert values(derived, "core:1", "cpu_core_busy_ratio") == [0.0, 0.0]
    host = find(derived, "host", "cpu_busy_cores")
    assert host.values["cpu_busy_cores"][0] == pytest.approx(0.75)
    assert host.values["cpu_iowait_cores"][0] == pytest.approx(0.1)
    assert math.isnan(host.values["cpu_busy_cores"][1])


def test_idle_that_steps_back_by_a_jiffy_is_no_reset(origin: Origin) -> None:
    deriver = Deriver(origin)
    deriver.feed(Cpu(t=START, jiffies=[[0, 0, 0, 50, 0, 0, 0, 0]]))
    deriver.feed(Cpu(t=START + S // 10, jiffies=[[10, 0, 0, 49, 0, 0, 0, 0]]))
    assert values(deriver.drain(), "core:0", "cpu_core_busy_ratio") == [1.0]


def test_processes_threads_io_and_quota(origin: Origin) -> None:
    deriver = Deriver(origin)
    for second, at in enumerate((START, START + S)):
        thread = ThreadCpu(
            tid=8, name="loader", state="D", user_jiffies=50 * second, system_jiffies=0, run_delay_ns=second * S // 4
        )
        cgroup = CgroupCpu(
            path="/job", usage_us=2_000_000 * second, periods=0, throttled_periods=0, throttled_us=500_000 * second
        )
        io = ProcessIo(rchar=4096 * second, wchar=0, read_bytes=0, write_bytes=0)
        one = process(7, 80 * second, command="train", thread_cpu=[thread], cgroup=cgroup, io=io, start_jiffies=5)
        deriver.feed(Processes(t=at, processes=[one]))
    derived = deriver.drain()
    group = find(derived, "process:7", "process_cpu_cores")
    assert group.values["process_cpu_cores"][1] == pytest.approx(0.8)
    assert group.reasons["process_cpu_cores"] == {0: "first_reading"}
    assert group.values["process_resident_bytes"].tolist() == [40960, 40960]
    assert values(derived, "process:7", "process_read_bytes_per_second")[1] == 4096
    assert find(derived, "thread:7/8", "thread_cpu_cores").values["thread_cpu_cores"][1] == pytest.approx(0.5)
    assert find(derived, "thread:7/8", "thread_cpu_cores").values["thread_state_code"].tolist() == [3, 3]
    assert values(derived, "thread:7/8", "thread_run_delay_ratio")[1] == 0.25
    assert values(derived, "cgroup:/job", "cgroup_cpu_throttled_ratio")[1] == 0.5
    assert labels(derived, "process:7")["command"] == "train"
    assert labels(derived, "thread:7/8") == {"pid": "7", "tid": "8", "name": "loader"}


def test_another_process_under_the_same_pid_starts_anew(origin: Origin) -> None:
    deriver = Deriver(origin)
    thread = ThreadCpu(tid=8, name="old", state="R", user_jiffies=0, system_jiffies=0)
    deriver.feed(Processes(t=START, processes=[process(7, 10, start_jiffies=1, user="a", thread_cpu=[thread])]))
    deriver.feed(Processes(t=START + S, processes=[process(7, 5000, start_jiffies=2)]))
    derived = deriver.drain()
    assert "user" not in labels(derived, "process:7")
    assert "thread:7/8" not in deriver._tables.labels
    group = find(derived, "process:7", "process_cpu_cores")
    assert np.isnan(group.values["process_cpu_cores"]).all()
    assert set(group.reasons["process_cpu_cores"].values()) == {"first_reading"}


def test_gpu_processes_are_summed_over_the_gpus_and_name_their_owners(origin: Origin) -> None:
    deriver = Deriver(origin)
    use = [GpuProcessUtilization(pid=7, sm_util_pct=p, memory_util_pct=0, t_us=0) for p in (20, 40)]
    held = [GpuProcess(pid=7, memory_used_bytes=100), GpuProcess(pid=9)]
    deriver.feed(GpuProcesses(t=START, gpu=0, processes=held, utilization=use))
    deriver.feed(GpuProcesses(t=START + 5, gpu=1, processes=[GpuProcess(pid=7, memory_used_bytes=50)]))
    derived = deriver.drain()
    assert values(derived, "process:7", "process_gpu_memory_bytes") == [150]
    assert values(derived, "process:7", "process_gpu_sm_ratio") == [0.3]
    assert find(derived, "process:9", "process_gpu_sm_ratio").reasons["process_gpu_sm_ratio"] == {0: "no_sample"}
    assert values(derived, "gpu:GPU-a", "gpu_processes_count") == [2]
    assert labels(derived, "gpu:GPU-a")["owners"] == "7,9"
    assert labels(derived, "process:7")["owner_of"] == "gpu:GPU-a,gpu:GPU-b"


def test_owners_are_those_of_the_batch(origin: Origin) -> None:
    deriver = Deriver(origin)
    deriver.feed(GpuProcesses(t=START, gpu=0, processes=[GpuProcess(pid=7)]))
    deriver.feed(GpuProcesses(t=START + S, gpu=0, processes=[GpuProcess(pid=8)]))
    assert labels(deriver.drain(), "gpu:GPU-a")["owners"] == "7,8"
    deriver.feed(GpuProcesses(t=START + 2 * S, gpu=0, processes=[]))
    assert labels(deriver.drain(), "gpu:GPU-a")["owners"] == "8"
    deriver.feed(GpuProcesses(t=START + 3 * S, gpu=0, processes=[]))
    assert labels(deriver.drain(), "gpu:GPU-a")["owners"] == ""


def test_host_figures(origin: Origin) -> None:
    deriver = Deriver(origin)
    for second in (0, 1):
        disks = [Disk(name="nvme0n1", read_bytes=1000 * second, write_bytes=0, busy_ms=1010 * second)]
        pressure = [Pressure(resource="io", some_us=250_000 * second)]
        deriver.feed(
            Host(
                t=START + second * S,
                memory_total_bytes=100,
                memory_available_bytes=40,
                disks=disks,
                pressure=pressure,
                missing={"swap_used_bytes": "no swap"},
            )
        )
    derived = deriver.drain()
    assert values(derived, "disk:nvme0n1", "disk_read_bytes_per_second")[1] == 1000
    assert values(derived, "disk:nvme0n1", "disk_busy_ratio")[1] == 1.0
    assert values(derived, "host", "host_io_pressure_ratio")[1] == 0.25
    assert values(derived, "host", "host_memory_used_bytes") == [60, 60]
    assert find(derived, "host", "host_swap_used_bytes").reasons["host_swap_used_bytes"][0] == "no swap"


def test_violations_and_health(origin: Origin) -> None:
    deriver = Deriver(origin)
    for second in (0, 1):
        deriver.feed(GpuViolation(t=START + second * S, gpu=0, violation_ns={"power": second * S // 2, "board": 1}))
        deriver.feed(GpuHealth(t=START + second * S, gpu=0, counters={"ecc_uncorrected": second, "other": 4}))
    derived = deriver.drain()
    assert values(derived, "gpu:GPU-a", "gpu_violation_power_ratio")[1] == 0.5
    assert values(derived, "gpu:GPU-a", "gpu_ecc_errors_count") == [0, 1]


def test_an_error_of_a_gpu_is_an_event(origin: Origin) -> None:
    deriver = Deriver(origin)
    for second, code in ((1, 79), (2, 999)):
        deriver.feed(GpuXid(t=START + second * S, gpu=0, code=code))
    told = [(event.t, event.kind, event.text, event.entity) for event in deriver.drain().events]
    assert told == [
        (START + S, "xid", "Xid 79: the GPU has fallen off the bus", "gpu:GPU-a"),
        (START + 2 * S, "xid", "Xid 999", "gpu:GPU-a"),
    ]


def test_a_source_is_told_of_when_its_state_changes(origin: Origin) -> None:
    deriver = Deriver(origin)
    for t, state in enumerate(("ok", "ok", "unavailable")):
        deriver.feed(SourceState(t=START + t, source="gpu", state=state, reason="" if state == "ok" else "driver lost"))
    assert [event.text for event in deriver.drain().events] == ["gpu: ok", "gpu: unavailable (driver lost)"]


def test_a_wall_clock_set_back_makes_a_second_group_and_an_event_but_no_false_rate(origin: Origin) -> None:
    deriver = Deriver(origin)
    mono = 0
    for t in (START, START + S, START - 3600 * S, START - 3599 * S):
        mono += S
        deriver.feed(Processes(t=t, mono=mono, processes=[process(7, mono // S * 50)]))
    derived = deriver.drain()
    groups = [g for g in derived.groups if "process_cpu_cores" in g.values]
    assert [g.times.size for g in groups] == [2, 2]
    assert all((np.diff(g.times) > 0).all() for g in groups)
    cores = np.concatenate([g.values["process_cpu_cores"] for g in groups])
    assert cores[1:].tolist() == pytest.approx([0.5, 0.5, 0.5])
    assert [event.kind for event in derived.events] == ["clock_step"]


def test_the_dead_are_forgotten(origin: Origin) -> None:
    deriver = Deriver(origin)
    sizes = []
    for round_ in range(60):
        t = START + round_ * S
        thread = ThreadCpu(tid=round_, name="t", state="R", user_jiffies=0, system_jiffies=0)
        cgroup = CgroupCpu(path=f"/{round_}", usage_us=0, periods=0, throttled_periods=0, throttled_us=0)
        deriver.feed(Processes(t=t, processes=[process(round_ + 100, 0, thread_cpu=[thread], cgroup=cgroup)]))
        for gpu in (0, 1):
            deriver.feed(GpuProcesses(t=t, gpu=gpu, processes=[GpuProcess(pid=round_ + 100)]))
        deriver.feed(Host(t=t, disks=[Disk(name=f"d{round_}", read_bytes=0, write_bytes=0, busy_ms=0)]))
        deriver.drain()
        sizes.append((len(deriver._tables._tables), len(deriver._tables.labels), len(deriver._gpu_processes._owned)))
    assert sizes[-1] == sizes[5]
    assert max(sizes[-1]) < 30


def test_newest_values_are_of_the_host_its_gpus_cores_and_gpu_processes(origin: Origin) -> None:
    deriver = Deriver(origin)
    deriver.feed(Gpu(t=START, gpu=0, power_milliwatts=5000))
    deriver.feed(Gpu(t=START + 9 * S, gpu=1, power_milliwatts=7000))
    deriver.feed(Processes(t=START + 9 * S, processes=[process(7, 0), process(8, 0)]))
    for gpu in (0, 1):
        deriver.feed(GpuProcesses(t=START + 9 * S, gpu=gpu, processes=[GpuProcess(pid=7)]))
    t, newest = deriver.newest(START + 8 * S)
    assert t == START + 9 * S
    assert newest["gpu:GPU-b"]["gpu_power_watts"] == 7.0
    assert "gpu_power_watts" not in newest["gpu:GPU-a"]
    assert "process:7" in newest
    assert "process:8" not in newest
