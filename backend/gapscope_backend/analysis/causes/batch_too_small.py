"""``batch_too_small``: the GPU works, but on pieces that fill a part of it."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact
from gapscope_backend.analysis.causes.job import may_spin
from gapscope_backend.analysis.causes.launch_bound import EMPTY_SM_RATIO
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View

FILLED_SM_RATIO = 0.65
"""SM active over graphics active: NVIDIA calls 0.5 poor and 0.8 good (DCGM documentation), this is between; seen 0.46
at batch 1, and 0.83 and more for work that fills the chip."""
THIN_OCCUPANCY = 0.15
"""Resident warps of the maximum while it works; seen 0.03 at batch 1, 0.43 at batch 64. Matrix products with few fat
warps are thin too, but they keep a pipe busy."""
BUSY_PIPE = 0.4
BUSY_DRAM = 0.6
"""Work that moves this much data is near another roof, however few its warps."""


def _claim(view: View) -> Claim:
    c = view.counters
    sm, occupancy = c.while_busy(c.sm), c.while_busy(c.occupancy)
    pipes = np.array([np.nan_to_num(c.while_busy(p)) for p in (c.tensor, c.fp32, c.fp64, c.fp16, c.integer)])
    thin = (sm >= EMPTY_SM_RATIO) & (sm < FILLED_SM_RATIO) & ~(occupancy >= THIN_OCCUPANCY)
    thin &= ~(c.while_busy(c.dram) >= BUSY_DRAM)
    if any(may_spin(view, peer) for peer in view.peers):  # it may wait for that peer: too early to blame the batch
        return Claim()
    return Claim(busy=np.where(thin & (pipes.max(axis=0) < BUSY_PIPE), 1.0, 0.0), confidence=0.8)


def _findings(view: View) -> Findings:
    sm = view.mean(view.counters.while_busy(view.counters.sm), view.busy)
    occupancy = view.mean(view.counters.while_busy(view.counters.occupancy), view.busy)
    return Findings(
        fact("gpu_sm_active_ratio", Text("of the SMs are active while the GPU works"), sm, FILLED_SM_RATIO)
        + fact("gpu_sm_occupancy_ratio", Text("of the warps are resident while it works"), occupancy, THIN_OCCUPANCY)
    )


CAUSE = Cause(
    id="batch_too_small",
    title=Text("Works on batches that cannot fill it"),
    row_class=FAULT,
    advice=Text(
        "Put more into each launch: larger or dynamic batches, several streams or model instances, lower precision "
        "once the chip is full."
    ),
    priority="P1",
    would_change=Text("SM active near graphics active, and higher occupancy."),
    claim=_claim,
    findings=_findings,
    source=Text("DCGM: SM active 0.5 poor, 0.8 good; recordings"),
)
