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

    def round(self, pause_seconds: float = PAUSE_SECONDS, fleet: bool = True) -> None:
        """Each question once."""
        host = host_name(asked_host(self._asked % self._hosts))
        now_ms = self._clock() * 1e3
        # Not the same five minutes again and again, and none that is being written.
        end_ms = now_ms - 3_600_000 - self._asked * 317_000 % 72_000_000
        gpu = gpu_key(self._asked % 8)
        self._asked += 1
        span = {"from": end_ms - 300_000, "to": end_ms, "buckets": 1500}
        self._ask("10 metrics x 5 min raw", host, [("entity", gpu), *(("metric", name) for name in TEN)], span)
        time.sleep(pause_seconds)
        day = {"from": now_ms - 86_400_000, "to": now_ms, "buckets": 1500}
        self._ask("24 h x 8 GPUs in 1500 buckets", host, [("entity", "gpu:*"), ("metric", TEN[0])], day)
        time.sleep(pause_seconds)
        if fleet:
            self._get("fleet", "/api/v1/hosts")
            time.sleep(pause_seconds)

    def figures(self) -> dict[str, Any]:
        """Durations by question."""
        return {name: spread_ms(taken) | {"bytes": self.answer_bytes[name]} for name, taken in self.taken.items()}

    def _ask(self, name: str, host: str, which: Sequence[tuple[str, str]], span: dict[str, float]) -> None:
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
