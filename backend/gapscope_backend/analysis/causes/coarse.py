"""``host_side`` and ``gpu_side``: the side is clear and the finer reason is not."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact
from gapscope_backend.analysis.causes.job import spins
from gapscope_backend.analysis.causes.launch_bound import EMPTY_SM_RATIO
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View

SOME_CORES = 0.5
"""CPU use around the GPU from which its idle time is the host's doing even where no stack says so."""
HOST_ACTIVITIES = (
    Activity.NATIVE,
    Activity.COPY,
    Activity.SYNC,
    Activity.IMPORT,
    Activity.STALLED,
    Activity.QUEUE_WAIT,
    Activity.BLOCKED,
    Activity.CHILD_BUSY,
    Activity.PRODUCER_READS,
    Activity.COLLECTIVE,
)


def _host_claim(view: View) -> Claim:
    cores = np.nan_to_num(view.cpu.owners) + np.nan_to_num(view.cpu.children)
    unseen = np.where(cores >= SOME_CORES, 1.0, 0.0) if view.gpu.owners else 0.0
    return Claim({**dict.fromkeys(HOST_ACTIVITIES, 1.0), Activity.UNSEEN: unseen}, confidence=0.4)


def _host_findings(view: View) -> Findings:
    calls = view.mean_activity(Activity.NATIVE, Activity.COPY)
    return Findings(
        fact(
            "process_cpu_cores",
            Text("CPU of the processes that hold the GPU"),
            view.mean(view.cpu.owners),
            SOME_CORES,
            "cores",
        )
        + fact("stacks", Text("idle time in native calls that cannot be told apart"), calls or None, None)
        + fact(
            "stacks", Text("idle time in imports and compilation"), view.mean_activity(Activity.IMPORT) or None, None
        )
    )


HOST_SIDE = Cause(
    id="host_side",
    title=Text("Held up by the host"),
    row_class=FAULT,
    advice=Text(
        "Record Python stacks beside the readings (py-spy dump --nonblocking, or py-spy record -p PID for a while), "
        "or look closer with: nsys profile --trace=cuda,osrt,nvtx COMMAND, or torch.profiler."
    ),
    priority="P0",
    would_change=Text("Stacks of the feeding thread, which would name the reason."),
    claim=_host_claim,
    findings=_host_findings,
    activities=HOST_ACTIVITIES,
)


def _gpu_claim(view: View) -> Claim:
    empty = view.counters.while_busy(view.counters.sm) < EMPTY_SM_RATIO
    spinning = any(spins(view, peer) for peer in view.peers)
    return Claim({Activity.DEVICE_WAIT: 1.0}, np.where(empty | spinning, 1.0, 0.0), confidence=0.4)


def _gpu_findings(view: View) -> Findings:
    waits = view.mean_activity(Activity.DEVICE_WAIT)
    sm = view.mean(view.counters.while_busy(view.counters.sm), view.busy)
    return Findings(
        fact("stacks", Text("idle time in which the host waits for the GPU though no kernel runs"), waits or None, 0.3)
        + fact("gpu_sm_active_ratio", Text("of the SMs are active while the GPU works"), sm, EMPTY_SM_RATIO)
    )


GPU_SIDE = Cause(
    id="gpu_side",
    title=Text("Held up on the GPU's side"),
    row_class=FAULT,
    advice=Text(
        "Counters cannot tell more; see single kernels with: nsys profile --trace=cuda COMMAND, then ncu COMMAND."
    ),
    priority="P3",
    would_change=Text("A kernel timeline."),
    claim=_gpu_claim,
    findings=_gpu_findings,
    activities=(Activity.DEVICE_WAIT,),
)
