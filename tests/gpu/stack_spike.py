"""The ways of asking py-spy, side by side: what each costs, what it slows, how many samples, how old they are."""

from __future__ import annotations

import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gapscope_agent.stacks.pyspy import find_pyspy
from tests.gpu.stack_watched import Watched, watched

SECONDS = 5.0
STAND_INS: dict[str, tuple[str, ...]] = {
    "image": (),
    "tiny": (),
    "threads": ("--count", "159"),
    "family": ("--count", "7"),
}


@dataclass(frozen=True)
class Tried:
    """``samples`` looks in all; ``age_seconds`` from a look to its being known, at worst."""

    samples: float
    age_seconds: float


Way = Callable[[str, int], Tried]


def _dumps(hertz: float) -> Way:
    def run(program: str, pid: int) -> Tried:
        words = [program, "dump", "--json", "--nonblocking", "--full-filenames", "--pid", str(pid)]
        ages, due, end = [], time.monotonic(), time.monotonic() + SECONDS
        while due < end:
            began = time.monotonic()
            subprocess.run(words, capture_output=True, check=False)
            ages.append(time.monotonic() - began)
            due = max(due + 1 / hertz, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))
        return Tried(len(ages), max(ages))

    return run


def _records(hertz: int, form: str, *options: str) -> Way:
    def run(program: str, pid: int) -> Tried:
        with tempfile.TemporaryDirectory() as folder:
            words = [program, "record", "--nonblocking", "--full-filenames", "--threads", "--format", form, *options]
            words += ["--rate", str(hertz), "--duration", str(int(SECONDS)), "--output", f"{folder}/out"]
            subprocess.run([*words, "--pid", str(pid)], capture_output=True, check=False)
            return Tried(hertz * int(SECONDS), SECONDS if Path(f"{folder}/out").exists() else float("nan"))

    return run


WAYS: dict[str, Way] = {
    "dump 2 Hz": _dumps(2),
    "dump 5 Hz": _dumps(5),
    "dump 10 Hz": _dumps(10),
    "record 10 Hz chrometrace, idle too": _records(10, "chrometrace", "--idle"),
    "record 20 Hz chrometrace, idle too": _records(20, "chrometrace", "--idle"),
    "record 50 Hz chrometrace, idle too": _records(50, "chrometrace", "--idle"),
    "record 50 Hz raw": _records(50, "raw"),
    "record 100 Hz raw, lock's owner only": _records(100, "raw", "--gil"),
}


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _at_once(way: Way, program: str, pids: list[int]) -> list[Tried]:
    with ThreadPoolExecutor(len(pids)) as pool:
        return list(pool.map(lambda pid: way(program, pid), pids))


def _try(target: Watched, way: Way, program: str, rounds: int) -> dict[str, float]:
    """Alternates the way with nothing; all processes of the target are sampled at once."""
    ratios, cores, rates, ages = [], [], [], []
    for _ in range(rounds):
        off = target.speed(SECONDS).by_time
        steps, began, cpu = target.steps(), time.monotonic(), _cpu_seconds()
        tried = _at_once(way, program, target.family())
        took = time.monotonic() - began
        ratios.append((target.steps() - steps) / took / off)
        cores.append((_cpu_seconds() - cpu) / took)
        rates.append(sum(one.samples for one in tried) / took)
        ages.append(max(one.age_seconds for one in tried))
    return {
        "sampler_cpu_percent": round(100 * statistics.median(cores), 2),
        "speed_ratio": round(statistics.median(ratios), 3),
        "looks_per_second": round(statistics.median(rates), 1),
        "age_seconds": round(max(ages), 3),
    }


def spike(rounds: int) -> list[dict[str, Any]]:
    """One row for each way and stand-in."""
    program, rows = find_pyspy(), []
    for kind, words in STAND_INS.items():
        with watched(kind, *words) as target:
            for name, way in WAYS.items():
                rows.append({"target": kind, "way": name, **_try(target, way, program, rounds)})
                print(rows[-1], flush=True)
    return rows
