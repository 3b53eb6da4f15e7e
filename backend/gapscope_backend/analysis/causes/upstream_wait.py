"""``upstream_wait``: the feeding thread waits to be handed work, between pieces of work."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact, stack_confidence
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View

BLOCKED_CORES = 0.5
"""A thread that is off the CPU in code of its own waits for something outside only where its process is calm too."""


def _claim(view: View) -> Claim:
    between = (~view.quiet).astype(np.float64)
    calm = between * ~(view.cpu.owners >= BLOCKED_CORES)
    return Claim({Activity.QUEUE_WAIT: between, Activity.BLOCKED: calm}, confidence=stack_confidence(view))


def _findings(view: View) -> Findings:
    waits = view.mean_activity(Activity.QUEUE_WAIT)
    blocked = view.mean_activity(Activity.BLOCKED)
    computing = view.mean_activity(Activity.PRODUCER_BUSY, Activity.CHILD_BUSY)
    return Findings(
        fact("stacks", Text("idle time in which the feeding thread waits on a queue, lock or timer"), waits, 0.3)
        + fact("stacks", Text("idle time in which it is off the CPU in code of its own"), blocked or None, 0.3),
        fact("stacks", Text("of it, time in which another thread or child was computing"), computing or None, 0.1),
    )


CAUSE = Cause(
    id="upstream_wait",
    title=Text("Waits for requests or for a batching window"),
    row_class=FAULT,
    advice=Text(
        "Shorten the batching window or let a batch start when the GPU is free; send more requests at once; "
        "let the next batch be collected while the GPU works on this one."
    ),
    priority="P1",
    would_change=Text("A thread or child process that computes while the feeding thread waits."),
    claim=_claim,
    findings=_findings,
    activities=(Activity.QUEUE_WAIT, Activity.BLOCKED),
    source=Text("Triton dynamic batching notes; recordings"),
)
