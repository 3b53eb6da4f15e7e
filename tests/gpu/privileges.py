"""What NVML tells an ordinary user, against root, and what each call costs in wall and CPU time.

Run as root on a machine with an NVIDIA GPU: ``python tests/gpu/privileges.py``. It starts a small GPU process of
another user, then makes every call that the agent makes once as root and once as ``nobody``, in a process of its
own each, and prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pynvml

NOBODY = 65534
HOLD = "import torch, time; x = torch.ones(4096, 4096, device='cuda')\nwhile True: x @ x; time.sleep(0.01)"
GPM_IDS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 20, 21, 60, 61)


def gpm_reader(device: Any, ids: tuple[int, ...]) -> Callable[[], Any]:
    first, second = pynvml.nvmlGpmSampleAlloc(), pynvml.nvmlGpmSampleAlloc()
    pynvml.nvmlGpmSampleGet(device, first)
    time.sleep(0.25)
    pynvml.nvmlGpmSampleGet(device, second)
    request = pynvml.c_nvmlGpmMetricsGet_t()
    request.version = pynvml.NVML_GPM_METRICS_GET_VERSION
    request.numMetrics = len(ids)
    request.sample1, request.sample2 = first, second
    for slot, metric in enumerate(ids):
        request.metrics[slot].metricId = metric

    def read() -> dict[int, float]:
        pynvml.nvmlGpmMetricsGet(request)
        return {request.metrics[slot].metricId: round(request.metrics[slot].value, 3) for slot in range(len(ids))}

    return read


def calls(device: Any) -> dict[str, Callable[[], Any]]:
    sample = pynvml.nvmlGpmSampleAlloc()
    return {
        "utilization_rates": lambda: pynvml.nvmlDeviceGetUtilizationRates(device).gpu,
        "power": lambda: pynvml.nvmlDeviceGetPowerUsage(device),
        "memory": lambda: pynvml.nvmlDeviceGetMemoryInfo(device).used,
        "event_reasons": lambda: pynvml.nvmlDeviceGetCurrentClocksEventReasons(device),
        "gpm_sample": lambda: pynvml.nvmlGpmSampleGet(device, sample) and None,
        "gpm_metrics_1": gpm_reader(device, GPM_IDS[:1]),
        "gpm_metrics_9": gpm_reader(device, GPM_IDS[:9]),
        "gpm_metrics_17": gpm_reader(device, GPM_IDS),
        "power_buffer": lambda: len(pynvml.nvmlDeviceGetSamples(device, pynvml.NVML_TOTAL_POWER_SAMPLES, 0)[1]),
        "utilization_buffer": lambda: len(
            pynvml.nvmlDeviceGetSamples(device, pynvml.NVML_GPU_UTILIZATION_SAMPLES, 0)[1]
        ),
        "compute_processes": lambda: [
            (p.pid, p.usedGpuMemory) for p in pynvml.nvmlDeviceGetComputeRunningProcesses(device)
        ],
        "process_utilization": lambda: [(p.pid, p.smUtil) for p in pynvml.nvmlDeviceGetProcessUtilization(device, 0)][
            :3
        ],
        "violation_power": lambda: (
            pynvml.nvmlDeviceGetViolationStatus(device, pynvml.NVML_PERF_POLICY_POWER).violationTime
        ),
        "ecc": lambda: pynvml.nvmlDeviceGetTotalEccErrors(
            device, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC
        ),
        "pcie_replays": lambda: pynvml.nvmlDeviceGetPcieReplayCounter(device),
        "pcie_link": lambda: (
            pynvml.nvmlDeviceGetCurrPcieLinkGeneration(device),
            pynvml.nvmlDeviceGetCurrPcieLinkWidth(device),
        ),
        "energy": lambda: pynvml.nvmlDeviceGetTotalEnergyConsumption(device),
    }


def attempt(call: Callable[[], Any], repeats: int = 30) -> dict[str, Any]:
    wall, cpu, value = [], [], None
    for _ in range(repeats):
        w0, c0 = time.perf_counter_ns(), time.thread_time_ns()
        try:
            value = call()
        except pynvml.NVMLError as error:
            return {"error": str(error)}
        cpu.append(time.thread_time_ns() - c0)
        wall.append(time.perf_counter_ns() - w0)
        time.sleep(0.01)
    return {"value": value, "wall_us": statistics.median(wall) / 1e3, "cpu_us": statistics.median(cpu) / 1e3}


def look() -> dict[str, Any]:
    pynvml.nvmlInit()
    device = pynvml.nvmlDeviceGetHandleByIndex(0)
    answer: dict[str, Any] = {"uid": os.getuid(), "driver": pynvml.nvmlSystemGetDriverVersion()}
    answer["name"] = pynvml.nvmlDeviceGetName(device)
    try:
        answer["gpm_supported"] = pynvml.nvmlGpmQueryDeviceSupport(device).isSupportedDevice
        table = calls(device)
    except pynvml.NVMLError as error:
        answer["gpm_error"] = str(error)
        return answer
    return {**answer, "calls": {name: attempt(call) for name, call in table.items()}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--look", action="store_true", help=argparse.SUPPRESS)
    if parser.parse_args().look:
        print(json.dumps(look()))
        return 0
    holder = subprocess.Popen([sys.executable, "-c", HOLD])
    time.sleep(12)
    results = {}
    for who, uid in (("root", 0), ("nobody", NOBODY)):
        run = subprocess.run(
            [sys.executable, __file__, "--look"], user=uid, group=uid, extra_groups=[], capture_output=True, text=True
        )
        results[who] = json.loads(run.stdout) if run.returncode == 0 else {"failed": run.stderr[-2000:]}
    holder.kill()
    holder.wait()
    print(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
