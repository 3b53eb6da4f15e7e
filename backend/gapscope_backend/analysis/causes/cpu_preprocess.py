"""``cpu_preprocess``: the GPU waits for work that the CPU does in the feeding process."""

from __future__ import annotations

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact, stack_confidence
from gapscope_backend.analysis.view import View

WORK = (Activity.CPU_WORK, Activity.PYTHON)
OTHERS = (Activity.PRODUCER_BUSY, Activity.CHILD_BUSY)


def _claim(view: View) -> Claim:
    return Claim(dict.fromkeys(WORK + OTHERS, 1.0), confidence=stack_confidence(view))


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
    activities=WORK + OTHERS,
)
