"""Rows that are no fault: ``healthy``, ``unknown`` and ``not_measured``."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.causes.cause import GOOD, MISSING, Cause, Claim, Findings, fact
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View

BUSY_PIPE = 0.4
"""Without a figure for the memory interface, work that keeps a pipe this busy is not limited by memory. Without the
pipes nothing is called healthy: FP32 work looks the same."""


def _claim(view: View) -> Claim:
    c = view.counters
    pipes = np.fmax(np.nan_to_num(c.while_busy(c.tensor)), np.nan_to_num(c.while_busy(c.fp16)))
    blind = np.isnan(c.tensor).all() or np.isnan(c.fp32).all()
    fed = np.isnan(c.dram).all() & (pipes < BUSY_PIPE)
    return Claim(busy=np.where(np.isnan(c.sm) | blind | fed, 0.0, 1.0), confidence=0.9)


def _findings(view: View) -> Findings:
    c = view.counters
    return Findings(
        fact("gpu_graphics_active_ratio", Text("graphics active"), view.mean(c.graphics), 0.9)
        + fact(
            "gpu_sm_active_ratio", Text("SMs active while the GPU works"), view.mean(c.while_busy(c.sm), view.busy), 0.6
        )
        + fact(
            "gpu_tensor_active_ratio",
            Text("tensor pipes active while it works"),
            view.mean(c.while_busy(c.tensor), view.busy),
        )
    )


HEALTHY = Cause(
    id="healthy",
    title=Text("Works, and fills the chip"),
    row_class=GOOD,
    advice=Text("Nothing to do here."),
    priority="",
    would_change=Text("Idle time, or work that leaves most of the chip empty."),
    claim=_claim,
    findings=_findings,
)
UNKNOWN = Cause(
    id="unknown",
    title=Text("Not explained"),
    row_class=MISSING,
    advice=Text(
        "Record Python stacks beside the readings (py-spy dump --nonblocking) and let the agent read hardware "
        "counters, or run it under a profiler: nsys profile --trace=cuda,osrt,nvtx COMMAND, or torch.profiler."
    ),
    priority="",
    would_change=Text("Stacks, counters and CPU figures for this time."),
    claim=lambda _: Claim(),
)
NOT_MEASURED = Cause(
    id="not_measured",
    title=Text("No data"),
    row_class=MISSING,
    advice=Text("See the state of the sources on this host."),
    priority="",
    would_change=Text("Readings of the GPU for this time."),
    claim=lambda _: Claim(),
)
