"""``dataloader_starved``: the trainer waits for its DataLoader, or loads every batch itself."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact, stack_confidence
from gapscope_backend.analysis.host_side import BUSY_CHILD_CORES
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

IDLE_WORKER_CORES = 0.1
"""DataLoader workers that use less than this together are themselves waiting, for storage or network."""
TRAINER_IDLE_CORES = 0.5


def _claim(view: View) -> Claim:
    workers_idle = view.cpu.children < IDLE_WORKER_CORES
    loader = 1.0 if view.cpu.loader_children else 0.0
    unseen = (view.cpu.children >= BUSY_CHILD_CORES) & (view.cpu.owners < TRAINER_IDLE_CORES)
    idle: dict[Activity, Floats | float] = {
        Activity.LOADER_WAIT: np.where(workers_idle, 0.0, 1.0),
        Activity.LOADER_WORK: 1.0,
        Activity.CHILD_BUSY: loader,
        Activity.UNSEEN: np.where(unseen, loader, 0.0),
    }
    return Claim(idle, confidence=stack_confidence(view))


def _findings(view: View) -> Findings:
    waits = view.mean_activity(Activity.LOADER_WAIT)
    loads = view.mean_activity(Activity.LOADER_WORK)
    return Findings(
        fact("stacks", Text("idle time in which the trainer waits for DataLoader workers"), waits or None, 0.2)
        + fact("stacks", Text("idle time in which the trainer loads the batch itself (no workers)"), loads or None, 0.2)
        + fact(
            "process_cpu_cores",
            Text("CPU of the worker processes"),
            view.mean(view.cpu.children),
            BUSY_CHILD_CORES,
            "cores",
        )
        + fact(
            "cpu_busy_cores",
            Text("cores busy on the host, of {cores:.0f}", cores=view.window.logical_cpus),
            view.mean(view.cpu.host),
            None,
            "cores",
        )
    )


CAUSE = Cause(
    id="dataloader_starved",
    title=Text("Waits for the DataLoader"),
    row_class=FAULT,
    advice=Text(
        "Use more workers (num_workers, up to the free cores), persistent_workers and prefetch_factor; make the "
        "transforms cheaper, cache decoded data, or decode on the GPU."
    ),
    priority="P0",
    would_change=Text("Workers that are idle while the trainer waits (then storage is the cause)."),
    claim=_claim,
    findings=_findings,
    activities=(Activity.LOADER_WAIT, Activity.LOADER_WORK, Activity.CHILD_BUSY),
    source=Text("PyTorch TensorBoard plugin: over 5 % of a step; TensorBoard profiler: 5 and 20 %"),
)
