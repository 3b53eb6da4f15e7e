"""``memory_bound``: the work runs at the roof of the GPU's own memory bandwidth."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.causes.cause import LIMIT, Cause, Claim, Findings, fact
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View

DRAM_ROOF = 0.7
"""DRAM active over graphics active from which bandwidth is the limit. The practical ceiling is 0.8-0.92 (DCGM's
documentation gives 0.8); seen: 0.92 in matrix-vector products, at most 0.4 in work limited by anything else."""
PARTLY = 0.1
"""So far below the roof the limit begins to count in part: the mean of kernels at the roof and of others."""
TENSOR_BELOW = 0.6
"""With tensor pipes busier than this, compute is as near its roof as memory is."""


def _claim(view: View) -> Claim:
    dram = view.counters.while_busy(view.counters.dram)
    tensor = np.nan_to_num(view.counters.while_busy(view.counters.tensor))
    at_roof = np.clip((dram - DRAM_ROOF + PARTLY) / PARTLY, 0.0, 1.0)
    return Claim(busy=np.where(tensor < TENSOR_BELOW, at_roof, 0.0), confidence=0.9)


def _findings(view: View) -> Findings:
    dram = view.mean(view.counters.while_busy(view.counters.dram), view.busy)
    tensor = view.mean(view.counters.while_busy(view.counters.tensor), view.busy)
    return Findings(
        fact("gpu_dram_active_ratio", Text("of the peak memory bandwidth while the GPU works"), dram, DRAM_ROOF)
        + fact("gpu_tensor_active_ratio", Text("tensor pipes active while it works"), tensor, TENSOR_BELOW)
    )


CAUSE = Cause(
    id="memory_bound",
    title=Text("Limited by its own memory bandwidth"),
    row_class=LIMIT,
    advice=Text(
        "The hardware is at its roof. Do more with each byte: larger batches, quantised weights, fused kernels; "
        "or a GPU with more bandwidth."
    ),
    priority="P2",
    would_change=Text("DRAM active well below its ceiling."),
    claim=_claim,
    findings=_findings,
    source=Text("DCGM: 0.8 of DRAM active is a practical peak; 0.92 in recordings"),
)
