"""``cpu_preprocess``: the GPU waits for work that the CPU does in the feeding process."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact, stack_confidence
from gapscope_backend.analysis.causes.native_work import (
    CERTAIN,
    cpu_share_of_launch,
    cpu_share_of_native,
    mean_traffic,
)
from gapscope_backend.analysis.counters import around, ratio
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

WORK = (Activity.CPU_WORK, Activity.PYTHON)
OTHERS = (Activity.PRODUCER_BUSY, Activity.CHILD_BUSY)
TENSORS_ON_CPU = (Activity.LAUNCH, Activity.NATIVE, Activity.COPY)
NATIVE_CORES = 2.0
"""Launching takes one thread (and one more in a backward pass). With two cores more than the Python threads use, the
framework computes on the CPU with its own pool of threads (seen: 3 to 9 cores so, 0.0-0.1 while launching)."""


def native_cores(view: View) -> Floats:
    """Cores that the owners use beyond their Python threads, around each cell; 0 where it is not known."""
    samples, cells = view.host.samples, view.seconds.size
    if samples is None:
        return np.zeros(cells)
    python = np.zeros(cells)
    for pid in view.gpu.owners:
        mine = samples.pids == pid
        running = np.bincount(samples.cell[mine & (samples.active == 1)], minlength=cells).astype(np.float64)
        _, first = np.unique(samples.snapshot[mine], return_index=True)
        snapshots = np.bincount(samples.cell[mine][first], minlength=cells).astype(np.float64)
        python += ratio(around(running), around(snapshots))
    return np.maximum(0.0, view.near_mean(view.cpu.owners) - python)


def _claim(view: View) -> Claim:
    pool = native_cores(view) >= NATIVE_CORES
    idle: dict[Activity, Floats | float] = dict.fromkeys(WORK + OTHERS, 1.0)
    idle[Activity.COPY] = pool.astype(np.float64)
    idle[Activity.NATIVE] = np.where(pool, 1.0, cpu_share_of_native(view))
    idle[Activity.LAUNCH] = np.where(pool, 1.0, cpu_share_of_launch(view))
    return Claim(idle, confidence=stack_confidence(view))


def _findings(view: View) -> Findings:
    others = view.mean_activity(*OTHERS)
    launching = view.mean_activity(Activity.LAUNCH)
    return Findings(
        fact(
            "stacks",
            Text("idle time in which the feeding thread computes outside the framework's launch path"),
            view.mean_activity(*WORK),
            0.3,
        )
        + fact(
            "stacks", Text("idle time in which it waits for another thread or child that computes"), others or None, 0.3
        )
        + fact(
            "thread_cpu_cores",
            Text("CPU of the owners outside Python threads"),
            view.mean(native_cores(view), view.idle),
            NATIVE_CORES,
            "cores",
        )
        + fact(
            "pcie_rx_bytes_per_second",
            Text("of the traffic that launching all the time would cause"),
            mean_traffic(view) if view.mean_activity(Activity.NATIVE) > 0.1 else None,
            CERTAIN,
        )
        + fact(
            "process_cpu_cores",
            Text("CPU of the processes that hold the GPU"),
            view.mean(view.cpu.owners),
            0.8,
            "cores",
        ),
        fact("stacks", Text("idle time in which it is launching GPU work"), launching or None, 0.3),
    )


CAUSE = Cause(
    id="cpu_preprocess",
    title=Text("Waits for CPU work in the feeding process"),
    row_class=FAULT,
    advice=Text(
        "Take this work off the thread that feeds the GPU: to worker processes, to a faster library, or to the GPU "
        "itself (decode with nvJPEG, resize and normalise as tensors)."
    ),
    priority="P0",
    would_change=Text("Stacks of the feeding thread that stand in the framework or in a wait while the GPU idles."),
    claim=_claim,
    findings=_findings,
    activities=WORK + OTHERS + TENSORS_ON_CPU,
    source=Text("SageMaker debugger: GPU idle while a CPU is full; launch traffic from recordings"),
)
