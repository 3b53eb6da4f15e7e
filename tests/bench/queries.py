"""The three questions that a page asks most, timed over HTTP."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

from tests.bench.fleet import gpu_key, host_name
from tests.bench.machine import spread_ms

ASKED_HOSTS = 2
_FIRST = 90_000
TEN = (
    "gpu_graphics_active_ratio",
    "gpu_sm_active_ratio",
    "gpu_sm_occupancy_ratio",
    "gpu_tensor_active_ratio",
    "gpu_dram_active_ratio",
    "pcie_rx_bytes_per_second",
    "pcie_tx_bytes_per_second",
    "gpu_power_watts",
    "gpu_sm_clock_hertz",
    "gpu_memory_used_bytes",
)
PAUSE_SECONDS = 0.5


def asked_host(number: int) -> int:
    """Number of a host that is asked for, beyond those that send."""
    return _FIRST + number


class Asker:
    """Asks in turn and notes how long each answer took."""

    def __init__(
        self, address: str, token: str, hosts: int = ASKED_HOSTS, clock: Callable[[], float] = time.time
    ) -> None:
        parts = urlsplit(address)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._clock = clock
        self._hosts = hosts
        self._asked = 0
        self.taken: dict[str, list[float]] = {}
        self.answer_bytes: dict[str, int] = {}

    def round(self, pause_seconds: float = PAUSE_SECONDS) -> None:
        """Each question once."""
        for ask in (self.samples, self.day, self.fleet):
            ask()
            time.sleep(pause_seconds)

    def samples(self) -> None:
        """Ten metrics of a GPU over five minutes: not the same again and again, and none that are being written."""
        end_ms = self._clock() * 1e3 - 3_600_000 - self._asked * 317_000 % 72_000_000
        which = [("entity", gpu_key(self._asked % 8)), *(("metric", name) for name in TEN)]
        self._ask("10 metrics x 5 min raw", which, {"from": end_ms - 300_000, "to": end_ms, "buckets": 1500})

    def day(self) -> None:
        """A metric of all GPUs over a day."""
        now_ms = self._clock() * 1e3
        span = {"from": now_ms - 86_400_000, "to": now_ms, "buckets": 1500}
        self._ask("24 h x 8 GPUs in 1500 buckets", [("entity", "gpu:*"), ("metric", TEN[0])], span)

    def fleet(self) -> None:
        """All hosts."""
        self._get("fleet", "/api/v1/hosts")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def figures(self) -> dict[str, Any]:
        """Durations by question."""
        return {name: spread_ms(taken) | {"bytes": self.answer_bytes[name]} for name, taken in self.taken.items()}

    def _ask(self, name: str, which: Sequence[tuple[str, str]], span: dict[str, float]) -> None:
        host = host_name(asked_host(self._asked % self._hosts))
        self._asked += 1
        self._get(name, f"/api/v1/hosts/{host}/series?{urlencode([*which, *span.items()])}")

    def _get(self, name: str, path: str) -> None:
        began = time.perf_counter()
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        taken = time.perf_counter() - began
        assert answer.status == 200, (path, answer.status, body[:300])
        self.taken.setdefault(name, []).append(taken)
        self.answer_bytes[name] = len(body)
