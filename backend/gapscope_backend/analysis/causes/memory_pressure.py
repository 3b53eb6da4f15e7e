"""``memory_pressure``: device memory is full and the allocator has to make room, or the host is short of memory."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.allocator_thrash import ALLOCATOR_SHARE, driver_busy
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact
from gapscope_backend.analysis.counters import held_cells
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

NEAR_FULL = 0.95
"""Device memory in use, of all. Servers reserve 0.9 and train loops may stand at 0.9 for good; above this PyTorch's
allocator frees its cache and tries again, which waits for all running work (torch.cuda.memory_stats,
num_alloc_retries)."""
PRESSURE = 0.1
"""Time in which some task waited for memory (PSI); 0 on a host with memory to spare."""
SWAP_BYTES_PER_SECOND = 10e6
ROOM = (Activity.ALLOCATOR, Activity.LAUNCH, Activity.NATIVE, Activity.STALLED, Activity.BLOCKED, Activity.COPY)
HOST = tuple(activity for activity in Activity if activity not in (Activity.DEVICE_WAIT, Activity.COLLECTIVE))


def fullness(view: View) -> Floats:
    """Device memory in use over all of it, per cell; NaN where it is not known."""
    total = view.gpu.memory_total_bytes
    return view.counters.memory / total if total else np.full(view.seconds.size, np.nan)


def _full(view: View) -> Floats:
    """1 in cells in which memory is near its end while the driver is at work, or emptying the cache is a habit."""
    habit = view.mean_activity(Activity.ALLOCATOR) >= ALLOCATOR_SHARE
    return ((fullness(view) >= NEAR_FULL) & (driver_busy(view) | habit)).astype(np.float64)


def _host_short(view: View) -> Floats:
    """Share of each cell in which the host's tasks waited for memory; swapping without that figure counts as half."""
    pressure = np.nan_to_num(held_cells(view.window, "host", "host_memory_pressure_ratio"))
    swapped = [held_cells(view.window, "host", f"host_swap_{way}_bytes_per_second") for way in ("in", "out")]
    swaps = np.nansum(np.array(swapped), axis=0) >= SWAP_BYTES_PER_SECOND
    return np.clip(np.maximum(np.where(pressure >= PRESSURE, pressure, 0.0), np.where(swaps, 0.5, 0.0)), 0.0, 1.0)


def _claim(view: View) -> Claim:
    short, full = _host_short(view), _full(view)
    idle: dict[Activity, Floats | float] = dict.fromkeys(HOST, short)
    idle |= {activity: np.maximum(short, full) for activity in ROOM}
    return Claim(idle, confidence=0.75)


def _findings(view: View) -> Findings:
    pressure = view.mean(held_cells(view.window, "host", "host_memory_pressure_ratio"))
    return Findings(
        fact("gpu_memory_used_bytes", Text("of the device's memory in use"), view.mean(fullness(view)), NEAR_FULL)
        + fact(
            "stacks", Text("idle time in frames of the allocator"), view.mean_activity(Activity.ALLOCATOR) or None, 0.1
        )
        + fact(
            "host_memory_pressure_ratio", Text("time in which tasks of the host waited for memory"), pressure, PRESSURE
        )
    )


CAUSE = Cause(
    id="memory_pressure",
    title=Text("Is short of memory"),
    row_class=FAULT,
    advice=Text(
        "Make the job smaller (batch, sequence length, activation checkpointing, a lower reserve of the server), "
        "allocate once, set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; on the host, fewer workers or more "
        "memory."
    ),
    priority="P2",
    would_change=Text("Free device memory, or no time in the allocator or in swapping while the GPU idles."),
    claim=_claim,
    findings=_findings,
    activities=ROOM,
    source=Text("PyTorch CUDA memory management notes; kernel PSI documentation"),
)
