"""The process tree: CPU, switches, I/O and threads of each process, and the quota of its control group.

A process or thread that a reading no longer names is forgotten, and one whose start time changed is another process
under the same id; so state stays as small as the tree is, however long the agent runs.
"""

from __future__ import annotations

from gapscope_agent.catalog import STATE_CODES
from gapscope_agent.derive.counters import Counters, limited
from gapscope_agent.derive.table import Tables
from gapscope_agent.reading import CgroupCpu, Origin, Process, Processes, ThreadCpu

IO_FIELDS = {
    "process_read_bytes_per_second": "rchar",
    "process_write_bytes_per_second": "wchar",
    "process_disk_read_bytes_per_second": "read_bytes",
    "process_disk_write_bytes_per_second": "write_bytes",
}
REASON_FIELDS = {
    "process_block_io_delay_ratio": "block_io_delay_jiffies",
    "process_voluntary_switches_per_second": "voluntary_switches",
    "process_involuntary_switches_per_second": "involuntary_switches",
}


class _Followed:
    """What is kept of one process between readings."""

    def __init__(self, start_jiffies: int | None) -> None:
        self.start_jiffies = start_jiffies
        self.fast = Counters()
        self.io = Counters()
        self.threads: dict[int, Counters] = {}


class ProcessesDeriver:
    """Steps from one ``processes`` reading to the next."""

    def __init__(self, tables: Tables, origin: Origin) -> None:
        self._tables = tables
        self._jiffies_per_second = origin.jiffies_per_second
        self._page_bytes = origin.page_bytes
        self._followed: dict[int, _Followed] = {}
        self._cgroups: dict[str, Counters] = {}

    @property
    def pids(self) -> frozenset[int]:
        """Processes of the newest reading."""
        return frozenset(self._followed)

    def feed(self, reading: Processes) -> None:
        """Add rows for each process, its threads where they were read, and its control group."""
        groups: dict[str, CgroupCpu] = {}
        detailed = False
        for process in reading.processes:
            followed = self._follow(process)
            self._fast(reading, process, followed)
            self._io(reading, process, followed)
            if process.thread_cpu is not None:
                detailed = True
                self._threads(reading, process, followed)
            if process.cgroup is not None:
                groups[process.cgroup.path] = process.cgroup
        for pid in self._followed.keys() - {process.pid for process in reading.processes}:
            self._forget(pid)
        for group in groups.values():
            self._cgroup(reading, group)
        if detailed:
            for path in self._cgroups.keys() - groups.keys():
                del self._cgroups[path]
                self._tables.forget(f"cgroup:{path}")

    def _follow(self, process: Process) -> _Followed:
        followed = self._followed.get(process.pid)
        start = process.start_jiffies
        if followed is not None and start is not None and followed.start_jiffies not in (None, start):
            self._forget(process.pid)
            self._tables.labels.pop(f"process:{process.pid}", None)
            followed = None
        if followed is None:
            followed = self._followed[process.pid] = _Followed(start)
        followed.start_jiffies = followed.start_jiffies if start is None else start
        key = f"process:{process.pid}"
        self._tables.label(
            key,
            pid=process.pid,
            parent_pid=process.parent_pid,
            command=process.command,
            user=process.user,
            start_jiffies=start,
            environment=None
            if process.environment is None
            else " ".join(f"{name}={value}" for name, value in sorted(process.environment.items())),
        )
        return followed

    def _forget(self, pid: int) -> None:
        followed = self._followed.pop(pid)
        self._tables.forget(f"process:{pid}")
        for tid in followed.threads:
            self._tables.forget(f"thread:{pid}/{tid}")

    def _seconds(self, jiffies: int | None) -> float | None:
        return None if jiffies is None else jiffies / self._jiffies_per_second

    def _fast(self, reading: Processes, process: Process, followed: _Followed) -> None:
        counters = {
            "process_cpu_cores": self._seconds(process.user_jiffies + process.system_jiffies),
            "process_user_cores": self._seconds(process.user_jiffies),
            "process_system_cores": self._seconds(process.system_jiffies),
            "process_voluntary_switches_per_second": process.voluntary_switches,
            "process_involuntary_switches_per_second": process.involuntary_switches,
            "process_block_io_delay_ratio": self._seconds(process.block_io_delay_jiffies),
        }
        missing = {name: process.missing.get(field, "not_reported") for name, field in REASON_FIELDS.items()}
        rates = limited(followed.fast.step(reading, counters, missing), "process_block_io_delay_ratio")
        gauges = {
            "process_state_code": float(STATE_CODES.get(process.state, 0)),
            "process_threads_count": float(process.threads),
            "process_resident_bytes": float(process.rss_pages * self._page_bytes),
        }
        table = self._tables.table(f"process:{process.pid}", "process")
        table.append(reading.t, {**rates.values, **gauges}, rates.reasons)

    def _io(self, reading: Processes, process: Process, followed: _Followed) -> None:
        reason = process.missing.get("io")
        if process.io is None and reason is None:
            return
        counters = {name: getattr(process.io, field, None) for name, field in IO_FIELDS.items()}
        rates = followed.io.step(reading, counters, dict.fromkeys(IO_FIELDS, reason or "not_reported"))
        self._tables.table(f"process:{process.pid}", "io").append(reading.t, rates.values, rates.reasons)

    def _threads(self, reading: Processes, process: Process, followed: _Followed) -> None:
        threads = process.thread_cpu or []
        for thread in threads:
            if thread.tid not in followed.threads:
                followed.threads[thread.tid] = Counters()
            self._thread(reading, process.pid, thread, followed.threads[thread.tid])
        for tid in followed.threads.keys() - {thread.tid for thread in threads}:
            del followed.threads[tid]
            self._tables.forget(f"thread:{process.pid}/{tid}")

    def _thread(self, reading: Processes, pid: int, thread: ThreadCpu, counters: Counters) -> None:
        cumulative: dict[str, float | None] = {
            "thread_cpu_cores": self._seconds(thread.user_jiffies + thread.system_jiffies),
            "thread_system_cores": self._seconds(thread.system_jiffies),
        }
        if thread.run_delay_ns is not None:
            cumulative["thread_run_delay_ratio"] = thread.run_delay_ns / 1e9
        if thread.voluntary_switches is not None:
            cumulative["thread_voluntary_switches_per_second"] = thread.voluntary_switches
        if thread.involuntary_switches is not None:
            cumulative["thread_involuntary_switches_per_second"] = thread.involuntary_switches
        rates = limited(counters.step(reading, cumulative), "thread_run_delay_ratio")
        values = {**rates.values, "thread_state_code": float(STATE_CODES.get(thread.state, 0))}
        if thread.last_cpu is not None:
            values["thread_last_cpu_index"] = float(thread.last_cpu)
        key = f"thread:{pid}/{thread.tid}"
        self._tables.label(key, pid=pid, tid=thread.tid, name=thread.name)
        self._tables.table(key, "thread").append(reading.t, values, rates.reasons)

    def _cgroup(self, reading: Processes, group: CgroupCpu) -> None:
        key = f"cgroup:{group.path}"
        counters = {
            "cgroup_cpu_cores": group.usage_us / 1e6,
            "cgroup_cpu_throttled_ratio": group.throttled_us / 1e6,
        }
        if group.path not in self._cgroups:
            self._cgroups[group.path] = Counters()
            self._tables.label(key, path=group.path)
        rates = limited(self._cgroups[group.path].step(reading, counters), "cgroup_cpu_throttled_ratio")
        if group.quota_cores is not None:
            rates.values["cgroup_cpu_quota_cores"] = group.quota_cores
        self._tables.table(key, "cgroup").append(reading.t, rates.values, rates.reasons)
