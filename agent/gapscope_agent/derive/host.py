"""Host readings: memory, swap, pressure, disks and network interfaces, once a second."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gapscope_agent.derive.counters import Counters, limited
from gapscope_agent.derive.table import Tables
from gapscope_agent.reading import Disk, Host, Network

PRESSURE = {
    "cpu": "host_cpu_pressure_ratio",
    "memory": "host_memory_pressure_ratio",
    "io": "host_io_pressure_ratio",
}


class HostDeriver:
    """Steps from one ``host`` reading to the next."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._host = Counters()
        self._devices: dict[str, Counters] = {}

    def feed(self, reading: Host) -> None:
        """Add a row for the host and one for each disk and interface."""
        self._feed_host(reading)
        for disk in reading.disks:
            self._feed_disk(reading, disk)
        for network in reading.networks:
            self._feed_network(reading, network)
        seen = {f"disk:{disk.name}" for disk in reading.disks} | {f"net:{net.name}" for net in reading.networks}
        for gone in self._devices.keys() - seen:
            del self._devices[gone]
            self._tables.forget(gone)

    def _feed_host(self, reading: Host) -> None:
        values = {
            "host_memory_used_bytes": _used(reading.memory_total_bytes, reading.memory_available_bytes),
            "host_swap_used_bytes": _number(reading.swap_used_bytes),
        }
        missing = {
            "host_memory_used_bytes": reading.missing.get("memory_available_bytes", "not_reported"),
            "host_swap_used_bytes": reading.missing.get("swap_used_bytes", "not_reported"),
            "host_swap_in_bytes_per_second": reading.missing.get("swap_in_bytes", "not_reported"),
            "host_swap_out_bytes_per_second": reading.missing.get("swap_out_bytes", "not_reported"),
        }
        counters: dict[str, float | None] = {
            "host_swap_in_bytes_per_second": reading.swap_in_bytes,
            "host_swap_out_bytes_per_second": reading.swap_out_bytes,
        }
        for pressure in reading.pressure:
            name = PRESSURE.get(pressure.resource)
            if name is not None:
                counters[name] = pressure.some_us / 1e6
        rates = limited(self._host.step(reading, counters, missing), *PRESSURE.values())
        self._tables.table("host", "host").append(reading.t, {**values, **rates.values}, {**missing, **rates.reasons})

    def _feed_disk(self, reading: Host, disk: Disk) -> None:
        counters = {
            "disk_read_bytes_per_second": disk.read_bytes,
            "disk_write_bytes_per_second": disk.write_bytes,
            "disk_busy_ratio": disk.busy_ms / 1e3,
        }
        self._feed_device(reading, f"disk:{disk.name}", disk.name, counters)

    def _feed_network(self, reading: Host, network: Network) -> None:
        counters = {
            "network_rx_bytes_per_second": network.rx_bytes,
            "network_tx_bytes_per_second": network.tx_bytes,
        }
        self._feed_device(reading, f"net:{network.name}", network.name, counters)

    def _feed_device(self, reading: Host, key: str, name: str, counters: Mapping[str, float]) -> None:
        if key not in self._devices:
            self._devices[key] = Counters()
            self._tables.label(key, name=name)
        rates = limited(self._devices[key].step(reading, counters), "disk_busy_ratio")
        self._tables.table(key, "host").append(reading.t, rates.values, rates.reasons)


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _used(total: int | None, available: int | None) -> float:
    return math.nan if total is None or available is None else float(max(0, total - available))
