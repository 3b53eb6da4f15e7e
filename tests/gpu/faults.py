"""Workloads whose fault is known by construction, for causes that need no change of the card's settings.

``python tests/gpu/faults.py NAME --seconds N``; NAME is one of:
``d2h-copy``: each step copies 1 GiB of results back to pinned host memory. ``oversubscribed``: the feeding process and
twenty busy children share four cores. ``cpu-quota``: the process may use half a core (cgroup v2, needs root).
``no-fault-training``: a training loop whose data lies on the GPU. ``no-fault-inference``: large batches through one
CUDA graph in bfloat16, the answers fetched at the end of each batch. Prints a JSON line when ready and one at the end.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

QUOTA_GROUP = Path("/sys/fs/cgroup/gapscope-quota")


def small_model() -> nn.Module:
    layers = [module for _ in range(24) for module in (nn.Linear(512, 512), nn.ReLU())]
    return nn.Sequential(*layers).cuda().bfloat16().eval()


def d2h_copy() -> Callable[[], None]:
    device = torch.randn(1 << 28, device="cuda")
    host = torch.empty(1 << 28, pin_memory=True)

    def step() -> None:
        device.mul_(1.0001)
        host.copy_(device, non_blocking=True)
        torch.cuda.synchronize()

    return step


def busy() -> None:
    """A child that computes in pure Python for ever."""
    value = 1
    while True:
        value = (value * 1_103_515_245 + 12_345) % 2**31


def oversubscribed() -> Callable[[], None]:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:4])
    for _ in range(20):
        multiprocessing.Process(target=busy, daemon=True).start()
    return serving_step()


def cpu_quota() -> Callable[[], None]:
    step = serving_step()
    QUOTA_GROUP.mkdir(exist_ok=True)
    (QUOTA_GROUP / "cpu.max").write_text("50000 100000")
    (QUOTA_GROUP / "cgroup.procs").write_text(str(os.getpid()))
    return step


def serving_step() -> Callable[[], None]:
    """A healthy inference step on its own: 24 layers on a batch, launched from Python, answered to the host."""
    torch.set_num_threads(1)
    model, batch = small_model(), torch.randn(4096, 512, device="cuda", dtype=torch.bfloat16)

    def step() -> None:
        with torch.inference_mode():
            for _ in range(8):
                answer = model(batch)
            answer[:, 0].float().cpu()

    return step


def no_fault_training() -> Callable[[], None]:
    model = nn.Sequential(*[m for _ in range(8) for m in (nn.Linear(8192, 8192), nn.GELU())]).cuda().bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    batch = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        model(batch).float().square().mean().backward()
        optimizer.step()

    return step


def no_fault_inference() -> Callable[[], None]:
    model = nn.Sequential(*[m for _ in range(16) for m in (nn.Linear(8192, 8192), nn.GELU())]).cuda().bfloat16().eval()
    batch = torch.randn(16384, 8192, device="cuda", dtype=torch.bfloat16)
    graph = torch.cuda.CUDAGraph()
    with torch.inference_mode():
        model(batch)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            answer = model(batch).argmax(-1)

    def step() -> None:
        graph.replay()
        answer.cpu()

    return step


FAULTS: dict[str, Callable[[], Callable[[], None]]] = {
    "d2h-copy": d2h_copy,
    "oversubscribed": oversubscribed,
    "cpu-quota": cpu_quota,
    "no-fault-training": no_fault_training,
    "no-fault-inference": no_fault_inference,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=sorted(FAULTS))
    parser.add_argument("--seconds", type=float, required=True)
    arguments = parser.parse_args()
    step = FAULTS[arguments.name]()
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    print(json.dumps({"ready": arguments.name}), flush=True)
    steps, began = 0, time.monotonic()
    while time.monotonic() - began < arguments.seconds:
        step()
        steps += 1
    torch.cuda.synchronize()
    print(json.dumps({"steps_per_s": steps / (time.monotonic() - began)}), flush=True)


if __name__ == "__main__":
    main()
