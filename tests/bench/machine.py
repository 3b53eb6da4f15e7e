"""What ran a benchmark, and where its figures are kept until ``report`` writes them into the docs."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import time
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).with_name("results")


def machine() -> dict[str, Any]:
    """Cores, processor, memory, versions, and the load average of the minute before."""
    return {
        "cores": len(os.sched_getaffinity(0)),
        "processor": _processor(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "load_1min": round(os.getloadavg()[0], 2),
    }


def save(name: str, figures: dict[str, Any], folder: Path = RESULTS) -> None:
    """Keep the figures of a run, with the machine and the day, in the place of those before."""
    folder.mkdir(parents=True, exist_ok=True)
    told = {"made": time.strftime("%Y-%m-%d", time.gmtime()), "machine": machine(), **figures}
    (folder / f"{name}.json").write_text(json.dumps(told, indent=1, sort_keys=True) + "\n")


def load_figures(name: str, folder: Path = RESULTS) -> dict[str, Any] | None:
    """The kept figures of a benchmark, None where it has not run."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    told: dict[str, Any] = json.loads(path.read_text())
    return told


def spread_ms(seconds: list[float]) -> dict[str, float]:
    """Count, median, p95, p99 and maximum of durations, in ms."""
    if not seconds:
        return {"count": 0}
    p50, p95, p99, top = (1e3 * np.percentile(seconds, [50, 95, 99, 100])).tolist()
    return {"count": len(seconds), "p50": _short(p50), "p95": _short(p95), "p99": _short(p99), "max": _short(top)}


def _short(value: float) -> float:
    return round(value, 2 if value < 10 else 1 if value < 100 else 0)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
