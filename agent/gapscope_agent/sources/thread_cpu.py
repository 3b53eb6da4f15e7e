"""CPU, scheduling and switches of each thread of a process, once a second.

``schedstat`` is the cheapest file and counts nanoseconds: a thread whose figures stand still did not run, so nothing
else about it changed and its last answer is given again. On a process with 200 threads, of which 10 run, this is a
third of the cost.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from gapscope_agent.reading import ThreadCpu
from gapscope_agent.sources.proc_files import parse_schedstat, parse_stat, parse_switches, read_bytes

MAX_THREADS = 512
"""Of one process; more are cut off, with a reason."""


class ThreadReader:
    """Threads of one process; keeps their last answers."""

    def __init__(self, process: Path) -> None:
        self._tasks = process / "task"
        self._last: dict[int, ThreadCpu] = {}

    def read(self, missing: dict[str, str]) -> list[ThreadCpu]:
        """All threads, oldest first. Raises OSError when the process is gone."""
        tids = sorted(int(name) for name in os.listdir(self._tasks))
        if len(tids) > MAX_THREADS:
            missing["thread_cpu"] = f"only the first {MAX_THREADS} of {len(tids)} threads are read"
            tids = tids[:MAX_THREADS]
        found: dict[int, ThreadCpu] = {}
        for tid in tids:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it ended since the listing
                found[tid] = self._read_thread(tid)
        self._last = found
        return list(found.values())

    def _read_thread(self, tid: int) -> ThreadCpu:
        folder = f"{self._tasks}/{tid}"
        run_ns, run_delay_ns = _schedstat(f"{folder}/schedstat")
        last = self._last.get(tid)
        if last is not None and run_ns is not None and last.run_ns == run_ns and last.run_delay_ns == run_delay_ns:
            return last
        stat = parse_stat(read_bytes(f"{folder}/stat"))
        switches = parse_switches(read_bytes(f"{folder}/status"))
        return ThreadCpu(
            tid=tid,
            name=stat.name,
            state=stat.state,
            user_jiffies=stat.user_jiffies,
            system_jiffies=stat.system_jiffies,
            last_cpu=stat.last_cpu,
            run_ns=run_ns,
            run_delay_ns=run_delay_ns,
            voluntary_switches=switches.voluntary if switches else None,
            involuntary_switches=switches.involuntary if switches else None,
        )


def _schedstat(path: str) -> tuple[int | None, int | None]:
    try:
        return parse_schedstat(read_bytes(path))
    except (FileNotFoundError, ValueError):  # a kernel without CONFIG_SCHED_INFO
        return None, None
