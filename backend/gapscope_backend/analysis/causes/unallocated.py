"""``unallocated``: no process holds the GPU."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import UNUSED, Cause, Claim, Findings, fact
from gapscope_backend.analysis.view import View

EMPTY_MEMORY_BYTES = 1.5e9
"""The driver itself keeps up to about 0.8 GB of a large GPU; a context adds 0.3 GB and a model more."""


def _claim(view: View) -> Claim:
    memory = view.counters.memory
    empty = not view.gpu.owners and not np.isnan(memory).all() and float(np.nanmax(memory)) < EMPTY_MEMORY_BYTES
    return Claim({activity: 1.0 for activity in Activity}, confidence=0.95) if empty else Claim()


def _findings(view: View) -> Findings:
    memory = view.mean(view.counters.memory)
    return Findings(
        fact("gpu_processes_count", "no process holds a context on this GPU", 0.0, 1.0, "processes")
        + fact("gpu_memory_used_bytes", "only the driver's own memory is in use", memory, EMPTY_MEMORY_BYTES, "bytes")
    )


CAUSE = Cause(
    id="unallocated",
    title="Nobody holds the GPU",
    row_class=UNUSED,
    advice="Give the GPU work, share it with another job, or hand it back.",
    priority="",
    would_change="A process with a context on the GPU.",
    claim=_claim,
    findings=_findings,
)
