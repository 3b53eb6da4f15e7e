"""``launch_bound``: the GPU finishes kernels faster than the host launches them."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact, stack_confidence
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

EMPTY_SM_RATIO = 0.15
"""SM active over graphics active below this: kernels that occupy a few SMs for microseconds (seen: 0.003 and 0.10
with tiny kernels, 0.45 and more with a convolution network at batch 1)."""
SMALL_SM_RATIO = 0.3
"""The same for native calls from own code, where GPU work and its size are the only sign that they are launches."""
FED_RATIO = 0.02
"""Graphics active from which a cell holds enough kernels to judge their size."""
HOST_BOUND_SHARE = 0.3
FULL_CORE = 0.9
"""A thread that launches without pause uses a whole core."""
CALLS = (Activity.NATIVE, Activity.COPY)
PATH = (Activity.LAUNCH, *CALLS, Activity.SYNC)


def small_kernels(view: View) -> bool:
    """True where the work that arrives fills less than ``SMALL_SM_RATIO`` of the SMs while it runs."""
    return filling_of_fed(view) < SMALL_SM_RATIO


def filling_of_fed(view: View) -> float:
    """SM active over graphics active, weighted by busy time; 1 where it cannot be told."""
    fed = view.counters.graphics >= FED_RATIO
    if view.busy[fed].sum() < FED_RATIO * view.idle.sum():
        return 1.0
    ratio = view.mean(view.counters.while_busy(view.counters.sm), np.where(fed, view.busy, 0.0))
    return 1.0 if ratio is None else ratio


def calls_are_launches(view: View) -> bool:
    """Are native calls from own code launches? When the thread is mostly in the framework, or kernels are small."""
    framework, calls = view.mean_activity(Activity.LAUNCH), view.mean_activity(*CALLS)
    return framework >= calls or small_kernels(view)


def _claim(view: View) -> Claim:
    native = 1.0 if calls_are_launches(view) else 0.0
    empty = view.counters.while_busy(view.counters.sm) < EMPTY_SM_RATIO
    busy_host = view.cpu.owners >= FULL_CORE
    blind = view.host.sample_count == 0
    hosted = view.mean_activity(*PATH) >= HOST_BOUND_SHARE
    idle: dict[Activity, Floats | float] = {
        Activity.LAUNCH: 1.0,
        Activity.NATIVE: native,
        Activity.COPY: native,
        Activity.SYNC: native,
        Activity.UNSEEN: np.where(empty & busy_host & (view.counters.graphics >= 0.05), 1.0, 0.0),
    }
    busy = np.where(empty & (hosted | (blind & busy_host)), 1.0, 0.0)
    return Claim(idle, busy, stack_confidence(view))


def _findings(view: View) -> Findings:
    occupancy = view.mean(view.counters.while_busy(view.counters.occupancy), view.busy)
    filling = view.mean(view.counters.while_busy(view.counters.sm), view.busy)
    return Findings(
        fact(
            "stacks",
            Text("idle time in which the feeding thread is launching GPU work"),
            view.mean_activity(*PATH),
            HOST_BOUND_SHARE,
        )
        + fact("gpu_sm_active_ratio", Text("of the SMs are active while the GPU works"), filling, EMPTY_SM_RATIO)
        + fact("gpu_sm_occupancy_ratio", Text("of the warps are resident while it works"), occupancy, 0.1)
        + fact(
            "process_cpu_cores",
            Text("CPU of the processes that hold the GPU"),
            view.mean(view.cpu.owners),
            FULL_CORE,
            "cores",
        ),
        fact(
            "stacks",
            Text("idle time in which it computes something else"),
            view.mean_activity(Activity.CPU_WORK, Activity.PYTHON) or None,
            HOST_BOUND_SHARE,
        ),
    )


CAUSE = Cause(
    id="launch_bound",
    title=Text("Waits for kernel launches"),
    row_class=FAULT,
    advice=Text(
        "Launch less often: CUDA graphs, torch.compile(mode='reduce-overhead'), fused kernels, larger batches."
    ),
    priority="P3",
    would_change=Text(
        "SMs well filled while the GPU works, or a feeding thread that waits or computes something else."
    ),
    claim=_claim,
    findings=_findings,
    activities=PATH,
    source=Text("DCGM: SM active below 0.5 is poor; 0.003 to 0.10 in recordings"),
)
