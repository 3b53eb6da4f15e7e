"""Cumulative jiffies of the cores to busy ratios and cores.

A core's shares are taken of the jiffies that it counted itself, not of the wall time: both come from one clock, so a
late reading changes nothing and the ratio stays in [0, 1]. Jiffies are 10 ms; at 10 Hz a ratio moves in steps of 0.1.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gapscope_agent.derive.counters import COUNTER_RESET, TOO_SOON
from gapscope_agent.derive.table import Tables
from gapscope_agent.reading import Cpu

USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL = range(8)
FIELDS = 8
BACKSTEP_JIFFIES = 2
"""idle and iowait may step back by a jiffy or two (proc_stat(5)); more means that the counters started anew."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class CpuDeriver:
    """Steps from one ``cpu`` reading to the next."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._last: Ints | None = None

    def feed(self, reading: Cpu) -> None:
        """Add one row for each core and one for the host; the first reading only sets the start."""
        jiffies = _matrix(reading.jiffies)
        last = self._last
        self._last = jiffies
        if last is None or last.shape != jiffies.shape:
            return
        delta = jiffies - last
        delta[(delta < 0) & (delta >= -BACKSTEP_JIFFIES)] = 0
        total = delta.sum(axis=1)
        if (total == 0).all():
            self._last = last
            return
        good = (delta >= 0).all(axis=1) & (total > 0)
        shares = np.full(delta.shape, np.nan)
        shares[good] = delta[good] / total[good, None]
        reasons = np.where(total == 0, TOO_SOON, COUNTER_RESET).tolist()
        self._cores(reading.t, shares, reasons)
        self._host(reading.t, shares)

    def _cores(self, t: int, shares: Floats, reasons: list[str]) -> None:
        busy = 1 - shares[:, IDLE] - shares[:, IOWAIT]
        for core, value in enumerate(np.clip(busy, 0, 1).tolist()):
            key = f"core:{core}"
            if key not in self._tables.labels:
                self._tables.label(key, index=core)
            reason = {"cpu_core_busy_ratio": reasons[core]} if math.isnan(value) else None
            self._tables.table(key, "cpu").append(t, {"cpu_core_busy_ratio": value}, reason)

    def _host(self, t: int, shares: Floats) -> None:
        cores = shares.sum(axis=0)
        values = {
            "cpu_busy_cores": float(cores.sum() - cores[IDLE] - cores[IOWAIT]),
            "cpu_user_cores": float(cores[USER] + cores[NICE]),
            "cpu_system_cores": float(cores[SYSTEM] + cores[IRQ] + cores[SOFTIRQ]),
            "cpu_iowait_cores": float(cores[IOWAIT]),
            "cpu_steal_cores": float(cores[STEAL]),
        }
        values = {name: max(0.0, value) if value == value else value for name, value in values.items()}
        self._tables.table("host", "cpu").append(t, values, dict.fromkeys(values, COUNTER_RESET))


def _matrix(rows: list[list[int]]) -> Ints:
    """int64[cores, 8]; kernels of other ages report more fields (guest time, already in user) or fewer."""
    return np.array([(row + [0] * FIELDS)[:FIELDS] for row in rows], dtype=np.int64).reshape(len(rows), FIELDS)
