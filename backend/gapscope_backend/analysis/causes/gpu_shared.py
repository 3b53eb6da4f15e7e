"""``gpu_shared``: another process takes turns on the GPU. The device is used, so nothing is lost to the fleet."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity, is_one_of
from gapscope_backend.analysis.causes.cause import LIMIT, Cause, Claim, Findings, fact
from gapscope_backend.analysis.counters import held_cells, ratio
from gapscope_backend.analysis.gaps import Flags
from gapscope_backend.analysis.host_side import NEAR_CELLS
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

TENANT_RATIO = 0.1
"""SM utilization from which a process counts as a tenant; monitoring tools and idle contexts stay at 0."""
CONTESTED = 2.0
"""Time slicing gives each of two tenants as much: the time of the lesser one is time in which both wanted the GPU, and
as much again went to the other. Counters of that time are of both, and judge neither's efficiency."""
ISSUING = (Activity.LAUNCH, Activity.DEVICE_WAIT, Activity.SYNC, Activity.COPY, Activity.NATIVE)


def _tenants(view: View) -> dict[int, float]:
    """Mean SM utilization of each owner that works."""
    found: dict[int, float] = {}
    for pid in view.gpu.owners:
        used = view.mean(held_cells(view.window, f"process:{pid}", "process_gpu_sm_ratio"))
        if used is not None and used >= TENANT_RATIO:
            found[pid] = used
    return found


def _by_stacks(view: View) -> dict[int, float]:
    """Owners of which threads are seen issuing work, with their shares of those samples: without the driver's figures
    for processes the best there is."""
    samples = view.host.samples
    if samples is None:
        return {}
    pids = samples.pids[view.host.feeders & is_one_of(samples.activity, ISSUING)]
    found = {pid: float((pids == pid).mean()) for pid in view.gpu.owners if (pids == pid).any()}
    return {pid: share for pid, share in found.items() if share >= TENANT_RATIO}


def _widened(flags: Flags) -> Flags:
    """Half a second more on either side, which bridges a second without a figure and tells one after the other."""
    if not flags.size:
        return flags
    wide: Flags = np.convolve(flags, np.ones(2 * NEAR_CELLS + 1))[NEAR_CELLS:][: flags.size] > 0
    return wide


def _contested(view: View) -> Floats:
    """Share of each cell's busy time in which two tenants wanted the GPU; NaN where no process has a figure.

    The driver's figures are of single seconds in steps of 20 percent, so means around each cell are compared,
    where both are seen at about the same time.
    """
    cells = [held_cells(view.window, f"process:{pid}", "process_gpu_sm_ratio") for pid in view.gpu.owners]
    if not cells:
        return np.full(view.seconds.size, np.nan)
    rates = np.array([view.near_mean(row) for row in cells])
    used = np.where(rates >= TENANT_RATIO, rates, 0.0)
    present = np.array([_widened(row >= TENANT_RATIO) for row in cells]).sum(axis=0)
    others = np.where(present >= 2, 1.0 - ratio(used.max(axis=0), used.sum(axis=0)), 0.0)
    return np.where(np.isnan(cells).all(), np.nan, np.minimum(1.0, CONTESTED * others))


def _claim(view: View) -> Claim:
    contested = _contested(view)
    if view.gpu.owners and not np.isnan(contested).all():
        return Claim(busy=contested, confidence=0.85)
    tenants = _by_stacks(view)
    if len(tenants) < 2:
        return Claim()
    others = 1.0 - max(tenants.values()) / sum(tenants.values())
    return Claim(busy=min(1.0, CONTESTED * others), confidence=0.5)


def _findings(view: View) -> Findings:
    facts = tuple(
        item
        for pid, used in sorted(_tenants(view).items())
        for item in fact("process_gpu_sm_ratio", Text("SM utilization of process {pid}", pid=pid), used, TENANT_RATIO)
    )
    return Findings(facts)


CAUSE = Cause(
    id="gpu_shared",
    title=Text("Taken in turns by another process"),
    row_class=LIMIT,
    advice=Text(
        "If one of them must be fast, give it a GPU or a MIG slice of its own; MPS lets them run side by side."
    ),
    priority="",
    would_change=Text("A single process with SM utilization."),
    claim=_claim,
    findings=_findings,
    source=Text("NVIDIA time slicing of contexts; NVML process utilization"),
)
