"""``gpu_shared``: another process takes turns on the GPU. The device is used, so nothing is lost to the fleet."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.causes.cause import LIMIT, Cause, Claim, Findings, fact
from gapscope_backend.analysis.counters import held_cells
from gapscope_backend.analysis.view import View

TENANT_RATIO = 0.1
"""SM utilization from which a process counts as a tenant; monitoring tools and idle contexts stay at 0."""


def _tenants(view: View) -> dict[int, float]:
    """Mean SM utilization of each owner that works."""
    found: dict[int, float] = {}
    for pid in view.gpu.owners:
        used = view.mean(held_cells(view.window, f"process:{pid}", "process_gpu_sm_ratio"))
        if used is not None and used >= TENANT_RATIO:
            found[pid] = used
    return found


def _claim(view: View) -> Claim:
    tenants = _tenants(view)
    if len(tenants) < 2:
        return Claim()
    others = 1.0 - max(tenants.values()) / sum(tenants.values())
    return Claim(busy=np.full(view.seconds.size, others), confidence=0.85)


def _findings(view: View) -> Findings:
    facts = tuple(
        item
        for pid, used in sorted(_tenants(view).items())
        for item in fact("process_gpu_sm_ratio", f"SM utilization of process {pid}", used, TENANT_RATIO)
    )
    return Findings(facts)


CAUSE = Cause(
    id="gpu_shared",
    title="Taken in turns by another process",
    row_class=LIMIT,
    advice="If one of them must be fast, give it a GPU or a MIG slice of its own; MPS lets them run side by side.",
    priority="",
    would_change="A single process with SM utilization.",
    claim=_claim,
    findings=_findings,
)
