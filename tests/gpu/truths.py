"""GPU loads whose truth is timed by CUDA events: the yardsticks that the agent's counters are held against.

Each load prints one JSON line with wall-clock ``start_ns`` and ``end_ns`` and what was really done in between.
``duty``: bursts of matrix products with sleeps between, busy time by CUDA events. ``copy``: pinned copies to the
device (or back), bytes and seconds by events. ``steady``: products back to back, never idle.
"""

from __future__ import annotations

import argparse
import json
import random
import time

import torch

SIZE = 4096


def product(left: torch.Tensor, right: torch.Tensor, count: int) -> tuple[torch.cuda.Event, torch.cuda.Event]:
    """Queue ``count`` products between two events."""
    first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    first.record()
    for _ in range(count):
        torch.mm(left, right)
    last.record()
    return first, last


def duty(seconds: float) -> dict[str, float]:
    """Random bursts and pauses of 20 to 400 ms; busy seconds summed over the bursts' events."""
    left, right = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    product(left, right, 50)
    torch.cuda.synchronize()
    random.seed(7)
    busy, start = 0.0, time.time_ns()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        first, last = product(left, right, random.randint(100, 2000))
        torch.cuda.synchronize()
        busy += first.elapsed_time(last) / 1e3
        time.sleep(random.uniform(0.02, 0.4))
    stop = time.time_ns()
    return {"start_ns": start, "end_ns": stop, "busy_ratio": busy / ((stop - start) / 1e9)}


def copy(seconds: float, to_device: bool) -> dict[str, float]:
    """2 GiB pinned copies back to back; bytes per second of event time and of wall time."""
    host = torch.empty(2 << 30, dtype=torch.uint8, pin_memory=True)
    device = torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
    device.copy_(host)
    torch.cuda.synchronize()
    moved, event_seconds, start = 0, 0.0, time.time_ns()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        for _ in range(8):
            device.copy_(host, non_blocking=True) if to_device else host.copy_(device, non_blocking=True)
        last.record()
        torch.cuda.synchronize()
        moved += 8 * host.numel()
        event_seconds += first.elapsed_time(last) / 1e3
    stop = time.time_ns()
    wall = (stop - start) / 1e9
    return {
        "start_ns": start,
        "end_ns": stop,
        "bytes_per_second": moved / wall,
        "bytes_per_event_second": moved / event_seconds,
    }


def steady(seconds: float) -> dict[str, float]:
    """Products queued ahead of the GPU, so that it never runs dry; the queue's depth is bounded by events."""
    left, right = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    product(left, right, 50)
    torch.cuda.synchronize()
    waiting = [product(left, right, 200)[1] for _ in range(4)]
    count, start = 0, time.time_ns()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        waiting.pop(0).synchronize()
        waiting.append(product(left, right, 200)[1])
        count += 200
    stop = time.time_ns()
    torch.cuda.synchronize()
    return {"start_ns": start, "end_ns": stop, "products_per_second": count / ((stop - start) / 1e9)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("load", choices=("duty", "copy-to-device", "copy-to-host", "steady"))
    parser.add_argument("--seconds", type=float, required=True)
    chosen = parser.parse_args()
    if chosen.load == "duty":
        truth = duty(chosen.seconds)
    elif chosen.load == "steady":
        truth = steady(chosen.seconds)
    else:
        truth = copy(chosen.seconds, chosen.load == "copy-to-device")
    print(json.dumps({"load": chosen.load, **truth}), flush=True)


if __name__ == "__main__":
    main()
