"""Stand-ins: a scripted driver library, a /proc tree in a folder, a clock that only moves when told."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any


class FakeNvmlError(Exception):
    """As nvidia-ml-py's: it carries the driver's return code."""

    def __init__(self, value: int) -> None:
        super().__init__(f"code {value}")
        self.value = value


class FakeRequest:
    """As c_nvmlGpmMetricsGet_t."""

    def __init__(self) -> None:
        self.version = self.numMetrics = 0
        self.sample1: Any = None
        self.sample2: Any = None
        self.metrics = [SimpleNamespace(metricId=0, nvmlReturn=0, value=0.0) for _ in range(16)]


class FakeNvml:
    """A driver with ``gpus`` GPUs. ``errors`` maps a function to the code it fails with; ``calls`` counts calls.

    ``counters``: what a GPM snapshot sees now, by metric id; a pair yields the difference of two snapshots.
    """

    NVMLError = FakeNvmlError
    c_nvmlGpmMetricsGet_t = FakeRequest  # noqa: N815
    NVML_GPM_METRICS_GET_VERSION = 1

    def __init__(self) -> None:
        self.gpus = 1
        self.errors: dict[str, int] = {}
        self.calls: dict[str, int] = {}
        self.answers: dict[str, Any] = {
            "nvmlDeviceGetPowerUsage": 350_000,
            "nvmlDeviceGetTemperature": 55,
            "nvmlDeviceGetClockInfo": 1980,
            "nvmlDeviceGetMaxClockInfo": 1980,
            "nvmlDeviceGetCurrentClocksEventReasons": 4,
            "nvmlDeviceGetCurrentClocksThrottleReasons": 8,
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=97, memory=40),
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(used=10, total=100),
            "nvmlDeviceGetName": "NVIDIA H200",
            "nvmlDeviceGetEnforcedPowerLimit": 700_000,
            "nvmlDeviceGetCurrPcieLinkGeneration": 5,
            "nvmlDeviceGetCurrPcieLinkWidth": 16,
            "nvmlDeviceGetMaxPcieLinkGeneration": 5,
            "nvmlDeviceGetMaxPcieLinkWidth": 16,
            "nvmlDeviceGetViolationStatus": SimpleNamespace(violationTime=7, referenceTime=1),
            "nvmlDeviceGetTotalEccErrors": 2,
            "nvmlDeviceGetPcieReplayCounter": 3,
            "nvmlDeviceGetRemappedRows": (1, 2, 0, 0),
            "nvmlDeviceGetComputeRunningProcesses": [],
            "nvmlDeviceGetGraphicsRunningProcesses": [],
            "nvmlDeviceGetProcessUtilization": [],
            "nvmlDeviceGetSamples": (1, []),
            "nvmlDeviceGetCpuAffinity": [0xF00F],
            "nvmlGpmQueryDeviceSupport": SimpleNamespace(isSupportedDevice=1),
            "nvmlSystemGetDriverVersion": "580.1",
            "nvmlInit": None,
            "nvmlShutdown": None,
            "nvmlGpmSampleFree": None,
            "nvmlDeviceRegisterEvents": None,
            "nvmlEventSetFree": None,
        }
        self.last_arguments: dict[str, tuple[Any, ...]] = {}
        self.counters: dict[int, float] = {}
        self.bad_metrics: dict[int, int] = {}
        self.event_sets: list[list[int]] = []

    nvmlEventTypeXidCriticalError = 8  # noqa: N815

    def _nvmlEventSetCreate(self) -> list[int]:  # noqa: N802
        self.event_sets.append([])
        return self.event_sets[-1]

    def _nvmlEventSetWait_v2(self, events: list[int], _milliseconds: int) -> SimpleNamespace:  # noqa: N802
        if not events:
            raise FakeNvmlError(10)
        return SimpleNamespace(eventData=events.pop(0))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("NVML_"):
            return zlib.crc32(name.encode())
        if name.startswith("nvml"):
            return lambda *arguments: self._call(name, arguments)
        raise AttributeError(name)

    def _call(self, name: str, arguments: tuple[Any, ...]) -> Any:
        self.calls[name] = self.calls.get(name, 0) + 1
        self.last_arguments[name] = arguments
        if name in self.errors:
            raise FakeNvmlError(self.errors[name])
        special: Callable[..., Any] | None = getattr(type(self), f"_{name}", None)
        return special(self, *arguments) if special else self.answers[name]

    def _nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return self.gpus

    def _nvmlDeviceGetHandleByIndex(self, index: int) -> str:  # noqa: N802
        return f"handle-{index}"

    def _nvmlDeviceGetUUID(self, handle: str) -> str:  # noqa: N802
        return f"GPU-{handle}"

    def _nvmlGpmSampleAlloc(self) -> dict[int, float]:  # noqa: N802
        return {}

    def _nvmlGpmSampleGet(self, handle: str, sample: dict[int, float]) -> None:  # noqa: N802
        sample.clear()
        sample.update(self.counters)

    def _nvmlGpmMetricsGet(self, request: FakeRequest) -> None:  # noqa: N802
        for metric in request.metrics:
            metric.nvmlReturn = self.bad_metrics.get(metric.metricId, 0)
            metric.value = request.sample2.get(metric.metricId, 0.0) - request.sample1.get(metric.metricId, 0.0)


class FakeClock:
    """Time stands still until ``advance`` or until somebody waits."""

    def __init__(self) -> None:
        self.wall = 1_700_000_000_000_000_000
        self.mono = 5_000_000_000

    def wall_ns(self) -> int:
        return self.wall

    def mono_ns(self) -> int:
        return self.mono

    def thread_cpu_ns(self) -> int:
        return self.mono // 10

    def advance(self, seconds: float) -> None:
        self.wall += round(seconds * 1e9)
        self.mono += round(seconds * 1e9)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        self.advance(seconds)
        return event.is_set()


class FakeProc:
    """A /proc tree in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def add(self, pid: int, parent: int, command: str = "python\0train.py\0", *, jiffies: int = 10) -> None:
        """A process with one thread."""
        name = command.split("\0")[0].rpartition("/")[2] or "kworker"
        self.write(f"{pid}/stat", self.stat(pid, parent, f"({name})", jiffies))
        self.write(f"{pid}/status", "Name:\tx\nvoluntary_ctxt_switches:\t11\nnonvoluntary_ctxt_switches:\t3\n")
        self.write(f"{pid}/cmdline", command)
        self.write(f"{pid}/cgroup", "0::/job/worker\n")
        self.write(f"{pid}/io", "rchar: 1\nwchar: 2\nsyscr: 0\nsyscw: 0\nread_bytes: 3\nwrite_bytes: 4\n")
        self.add_thread(pid, pid, jiffies=jiffies)

    def add_thread(self, pid: int, tid: int, *, jiffies: int = 10, run_ns: int = 1000) -> None:
        folder = f"{pid}/task/{tid}"
        self.write(f"{folder}/stat", self.stat(tid, 1, "(worker (a) b)", jiffies))
        self.write(f"{folder}/schedstat", f"{run_ns} 500 7\n")
        self.write(f"{folder}/status", "Name:\tx\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t6\n")

    def remove(self, pid: int) -> None:
        for path in sorted((self.root / str(pid)).rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        (self.root / str(pid)).rmdir()

    @staticmethod
    def stat(pid: int, parent: int, name: str, jiffies: int) -> str:
        fields = ["0"] * 50
        fields[0], fields[1] = "S", str(parent)
        fields[11], fields[12], fields[17], fields[19] = str(jiffies), "5", "2", "777"
        fields[21], fields[36], fields[39] = "4096", "3", "9"
        return f"{pid} {name} {' '.join(fields)}\n"
