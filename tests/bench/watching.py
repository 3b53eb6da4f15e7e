"""Memory, CPU and backlog of a running server, seen from outside every few seconds."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.bench.engines import Place
from tests.bench.serving import Served, resident_bytes, tree_cost

HOT = "SELECT count(*) FROM ingest_hot"


@dataclass
class Watcher:
    """Looks every ``step_seconds`` until stopped."""

    served: Served
    place: Place
    step_seconds: float = 5.0
    rows: list[dict[str, float]] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Watcher:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)

    def _run(self) -> None:
        began = time.monotonic()
        while True:
            self.rows.append({"at": round(time.monotonic() - began, 1), **self._look()})
            if self._stop.wait(self.step_seconds):
                return

    def _look(self) -> dict[str, float]:
        seen: dict[str, float] = {"hot_batches": self.place.ask(HOT), "load_1min": round(os.getloadavg()[0], 2)}
        for role, process in self.served.processes().items():
            seen[f"{role}_mib"] = round(resident_bytes(process) / 2**20, 1)
            seen[f"{role}_cpu_seconds"] = cpu_seconds(process)
            seen[f"{role}_waited_seconds"] = waited_seconds(process)
        if self.place.postmaster is not None:
            seconds, held = tree_cost(self.place.postmaster)
            seen["database_mib"], seen["database_cpu_seconds"] = round(held / 2**20, 1), seconds
        return seen


def cpu_seconds(process: psutil.Process) -> float:
    """CPU time that a process has used."""
    times = process.cpu_times()
    return float(times.user + times.system)


def waited_seconds(process: psutil.Process) -> float:
    """Time in which threads of a process could have run and found no free core (Linux, /proc/PID/task/*/schedstat)."""
    waited = 0
    for path in Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
        with suppress(OSError):  # the thread has ended
            waited += int(path.read_text().split()[1])
    return waited / 1e9


def summary(rows: list[dict[str, float]]) -> dict[str, Any]:
    """Of each process: memory after a quarter of the time, at the end and at most, and its share of a core;
    ``waited_cores`` counts the threads that could have run and found no core free."""
    told: dict[str, Any] = {
        "hot_batches": {"begin": rows[0]["hot_batches"], "end": rows[-1]["hot_batches"]},
        "load_1min": {"begin": rows[0]["load_1min"], "end": rows[-1]["load_1min"]},
    }
    told["hot_batches"]["most"] = max(row["hot_batches"] for row in rows)
    for role in ("api", "worker", "database"):
        seen = [row for row in rows if f"{role}_mib" in row]
        if len(seen) > 1:
            held = [row[f"{role}_mib"] for row in seen]
            told[role] = {
                "mib_at_quarter": held[len(held) // 4],
                "mib_end": held[-1],
                "mib_most": max(held),
                "cores": _a_second(seen, f"{role}_cpu_seconds"),
            }
            if f"{role}_waited_seconds" in seen[0]:
                told[role]["waited_cores"] = _a_second(seen, f"{role}_waited_seconds")
    return told


def _a_second(rows: list[dict[str, float]], name: str) -> float:
    """How fast a sum has grown."""
    return round((rows[-1][name] - rows[0][name]) / (rows[-1]["at"] - rows[0]["at"]), 2)


def per_batch(rows: list[dict[str, float]], batches: int) -> dict[str, float]:
    """CPU time of each process in ms a batch: what a rate costs, whoever else uses the cores meanwhile."""
    told = {}
    for role in ("api", "worker", "database"):
        used = [row[f"{role}_cpu_seconds"] for row in rows if f"{role}_cpu_seconds" in row]
        if len(used) > 1:
            told[role] = round(1e3 * (used[-1] - used[0]) / batches, 2)
    return told
