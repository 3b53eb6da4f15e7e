"""``cpu_preprocess``: the GPU waits for work that the CPU does in the feeding process."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact, stack_confidence
from gapscope_backend.analysis.causes.native_work import (
    CERTAIN,
    cpu_share_of_launch,
    cpu_share_of_native,
    launching_traffic,
)
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

WORK = (Activity.CPU_WORK, Activity.PYTHON)
OTHERS = (Activity.PRODUCER_BUSY, Activity.CHILD_BUSY)
TENSORS_ON_CPU = (Activity.LAUNCH, Activity.NATIVE, Activity.COPY)
NATIVE_CORES = 2.0
"""Launching takes one thread (and one more in a backward pass). With two cores more than the Python threads use, the
framework computes on the CPU with its own pool of threads (seen: 3 to 9 cores so, 0.0-0.1 while launching)."""


def native_cores(view: View) -> float:
    """Cores that the owners use beyond their Python threads; 0 where it is not known."""
    samples, used = view.host.samples, view.mean(view.cpu.owners)
    if samples is None or used is None:
        return 0.0
    mine = np.isin(samples.pids, view.gpu.owners)
    active = float((samples.active[mine] == 1).sum())
    snapshots = np.unique(samples.snapshot[mine]).size
    processes = np.unique(samples.pids[mine]).size
    return used - active / snapshots * processes if snapshots else 0.0


def _claim(view: View) -> Claim:
    pool = 1.0 if native_cores(view) >= NATIVE_CORES else 0.0
    idle: dict[Activity, Floats | float] = dict.fromkeys(WORK + OTHERS, 1.0)
    idle |= dict.fromkeys(TENSORS_ON_CPU, pool)
    if not pool:
        idle[Activity.NATIVE] = cpu_share_of_native(view)
        idle[Activity.LAUNCH] = cpu_share_of_launch(view)
    return Claim(idle, confidence=stack_confidence(view))


def _findings(view: View) -> Findings:
    others = view.mean_activity(*OTHERS)
    launching = view.mean_activity(Activity.LAUNCH)
    return Findings(
        fact(
            "stacks",
            "idle time in which the feeding thread computes outside the framework's launch path",
            view.mean_activity(*WORK),
            0.3,
        )
        + fact("stacks", "idle time in which it waits for another thread or child that computes", others or None, 0.3)
        + fact(
            "thread_cpu_cores", "CPU of the owners outside Python threads", native_cores(view), NATIVE_CORES, "cores"
        )
        + fact(
            "pcie_rx_bytes_per_second",
            "of the traffic that launching all the time would cause",
            launching_traffic(view) if view.mean_activity(Activity.NATIVE) > 0.1 else None,
            CERTAIN,
        )
        + fact("process_cpu_cores", "CPU of the processes that hold the GPU", view.mean(view.cpu.owners), 0.8, "cores"),
        fact("stacks", "idle time in which it is launching GPU work", launching or None, 0.3),
    )


CAUSE = Cause(
    id="cpu_preprocess",
    title="Waits for CPU work in the feeding process",
    row_class=FAULT,
    advice="Take this work off the thread that feeds the GPU: to worker processes, to a faster library, or to the GPU "
    "itself (decode with nvJPEG, resize and normalise as tensors).",
    priority="P0",
    would_change="Stacks of the feeding thread that stand in the framework or in a wait while the GPU idles.",
    claim=_claim,
    findings=_findings,
    activities=WORK + OTHERS + TENSORS_ON_CPU,
)
