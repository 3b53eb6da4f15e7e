"""``host``: memory, swap, disks, networks (psutil) and pressure stalls (/proc/pressure). Once a second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import psutil

from gapscope_agent.reading import Disk, Host, Network, Pressure, Reading
from gapscope_agent.sources.base import Source

RESOURCES = ("cpu", "memory", "io")

_MEMORY_DISKS = ("loop", "ram", "zram")
_VIRTUAL_NETWORKS = ("veth", "cali", "lxc")
"""One end of a container's cable: the same bytes pass the host's own interfaces."""

_T = TypeVar("_T")


class HostFigures(Source):
    """Host-wide figures that need no 10 Hz. Each group degrades alone, with its reason."""

    name = "host"
    lane = "host"
    period_seconds = 1.0
    deadline_seconds = 2.0
    phase_seconds = 0.05

    def open(self) -> None:
        """Nothing to hold open."""

    def sample(self, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        """One reading."""
        missing: dict[str, str] = {}
        reading = Host(t=now_ns, mono=mono_ns, missing=missing)
        memory = _try(psutil.virtual_memory, missing, "memory_total_bytes", "memory_available_bytes")
        if memory is not None:
            reading.memory_total_bytes, reading.memory_available_bytes = memory.total, memory.available
        swap_fields = ("swap_total_bytes", "swap_used_bytes", "swap_in_bytes", "swap_out_bytes")
        swap = _try(psutil.swap_memory, missing, *swap_fields)
        if swap is not None:
            reading.swap_total_bytes, reading.swap_used_bytes = swap.total, swap.used
            reading.swap_in_bytes, reading.swap_out_bytes = swap.sin, swap.sout
        reading.disks = _try(_disks, missing, "disks") or []
        reading.networks = _try(_networks, missing, "networks") or []
        reading.pressure = _try(lambda: read_pressure(self.context.proc), missing, "pressure") or []
        return [reading]


def read_pressure(proc: Path) -> list[Pressure]:
    """Stall counters of the kernel (https://docs.kernel.org/accounting/psi.html), cumulative microseconds."""
    found = []
    for resource in RESOURCES:
        totals: dict[str, int] = {}
        for line in (proc / "pressure" / resource).read_text().splitlines():
            kind, *pairs = line.split()
            totals[kind] = int(dict(pair.split("=", 1) for pair in pairs)["total"])
        found.append(Pressure(resource, totals["some"], totals.get("full")))
    return found


def _disks() -> list[Disk]:
    counters = psutil.disk_io_counters(perdisk=True) or {}
    return [
        Disk(name, disk.read_bytes, disk.write_bytes, getattr(disk, "busy_time", 0))
        for name, disk in counters.items()
        if not name.startswith(_MEMORY_DISKS) and Path("/sys/block", name.replace("/", "!")).exists()
    ]


def _networks() -> list[Network]:
    return [
        Network(name, counters.bytes_recv, counters.bytes_sent)
        for name, counters in psutil.net_io_counters(pernic=True).items()
        if name != "lo" and not name.startswith(_VIRTUAL_NETWORKS)
    ]


def _try(ask: Callable[[], _T], missing: dict[str, str], *fields: str) -> _T | None:
    try:
        return ask()
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        missing.update(dict.fromkeys(fields, f"the kernel does not tell: {reason}"))
        return None
