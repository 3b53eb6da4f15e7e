"""``cpu_quota``: the control group's CPU quota is used up and its threads are held."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact
from gapscope_backend.analysis.counters import held_cells
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

THROTTLED_RATIO = 0.05
"""Time throttled below this is a quota that is touched now and then and costs nobody much."""


def throttled(view: View) -> Floats:
    """Share of each cell in which the most throttled control group was held; NaN where not measured."""
    groups = sorted({entity for entity, _ in view.window.series if entity.startswith("cgroup:")})
    rows = [held_cells(view.window, group, "cgroup_cpu_throttled_ratio") for group in groups]
    return np.max(np.nan_to_num(np.array(rows)), axis=0) if rows else np.full(view.seconds.size, np.nan)


def _claim(view: View) -> Claim:
    share = np.nan_to_num(throttled(view)).clip(0.0, 1.0)
    idle = np.divide(view.idle, view.seconds, out=np.ones_like(share), where=view.seconds > 0)
    # While the group is held nothing is launched: the held time falls into the idle part of the cell.
    part = np.divide(share, idle, out=np.ones_like(share), where=idle > share)
    held = np.where(share >= THROTTLED_RATIO, part, 0.0)
    return Claim(dict.fromkeys(Activity, held), confidence=0.85)


def _findings(view: View) -> Findings:
    return Findings(
        fact(
            "cgroup_cpu_throttled_ratio",
            Text("time in which the control group was held by its CPU quota"),
            view.mean(throttled(view)),
            THROTTLED_RATIO,
        )
    )


CAUSE = Cause(
    id="cpu_quota",
    title=Text("Waits because the container's CPU quota is used up"),
    row_class=FAULT,
    advice=Text(
        "Raise or remove the container's CPU limit (Kubernetes: resources.limits.cpu), or start fewer threads."
    ),
    priority="P0",
    would_change=Text("No throttled time in cpu.stat."),
    claim=_claim,
    findings=_findings,
    source=Text("kernel CFS bandwidth control (cpu.stat)"),
)
