"""``no_work``: the owner sleeps, nothing arrives, for half a second and longer."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import UNUSED, Cause, Claim, Findings, fact, stack_confidence
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import QUIET_RATIO, View
from gapscope_backend.analysis.window import Floats

ASLEEP_CORES = 0.3
"""An owner that waits uses 0.00-0.02 of a core, one that works on something at least a good part of one."""
ASLEEP_UNSEEN_CORES = 0.1
"""The same without stacks, where CPU time is all there is to go by."""


def asleep(view: View, cores: float) -> Floats:
    """1 in cells of pauses in which the owners and their children use fewer than ``cores``, else 0."""
    used = view.cpu.owners + np.nan_to_num(view.cpu.children)
    return (view.quiet & ~(used >= cores)).astype(np.float64)


def _claim(view: View) -> Claim:
    if not view.gpu.owners:
        return Claim()
    still = asleep(view, ASLEEP_CORES)
    unseen = np.where(np.isnan(view.cpu.owners), 0.0, asleep(view, ASLEEP_UNSEEN_CORES))
    idle = {Activity.QUEUE_WAIT: still, Activity.BLOCKED: still, Activity.UNSEEN: unseen}
    return Claim(idle, confidence=stack_confidence(view))


def _findings(view: View) -> Findings:
    quiet = float(view.seconds[view.quiet].sum())
    cores = view.mean(view.cpu.owners, np.where(view.quiet, view.seconds, 0.0))
    power = view.mean(view.counters.power, np.where(view.quiet, view.seconds, 0.0))
    return Findings(
        fact(
            "gpu_graphics_active_ratio",
            Text("at rest (below {level:.0%}) in pauses of 0.5 s and longer", level=QUIET_RATIO),
            quiet,
            0.5,
            "seconds",
        )
        + fact("process_cpu_cores", Text("CPU of the owners in these pauses"), cores, ASLEEP_CORES, "cores")
        + fact("gpu_power_watts", Text("power in these pauses"), power, None, "watts")
    )


CAUSE = Cause(
    id="no_work",
    title=Text("No work arrives"),
    row_class=UNUSED,
    advice=Text("Nothing to repair. To use the GPU better: send it more work, put more services on it, or scale down."),
    priority="",
    would_change=Text(
        "CPU use in the owner during the pauses, or work that waits elsewhere (a queue that is not empty)."
    ),
    claim=_claim,
    findings=_findings,
    activities=(Activity.QUEUE_WAIT, Activity.BLOCKED),
    source=Text("Nsight Systems: gaps over 500 ms"),
)
