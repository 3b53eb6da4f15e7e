"""``gpu_imbalance``: the GPU idles while a sibling of the same job is full."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact
from gapscope_backend.analysis.causes.job import SPIN_SM_RATIO, same_job
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View

CONTRAST = 0.4
"""Difference of graphics active in the same 100 ms from which one GPU has work that the other could do (seen: 0.99
with uneven requests; evenly loaded siblings differ by less than 0.1)."""
WAITING = (Activity.DEVICE_WAIT, Activity.QUEUE_WAIT, Activity.BLOCKED, Activity.COLLECTIVE, Activity.UNSEEN)


def _full_peers(view: View) -> list[View]:
    """Siblings that do useful work; one that spins in a collective has none to give."""
    return [peer for peer in view.peers if same_job(view, peer) and (peer.filling or 0.0) >= SPIN_SM_RATIO]


def _claim(view: View) -> Claim:
    peers = _full_peers(view)
    if not peers:
        return Claim()
    fullest = np.max(np.nan_to_num(np.array([peer.counters.graphics for peer in peers])), axis=0)
    uneven = np.where(fullest - np.nan_to_num(view.counters.graphics, nan=1.0) >= CONTRAST, 1.0, 0.0)
    return Claim(dict.fromkeys(WAITING, uneven), confidence=0.85)


def _findings(view: View) -> Findings:
    facts = fact("gpu_graphics_active_ratio", Text("graphics active here"), view.mean(view.counters.graphics), None)
    for peer in _full_peers(view):
        facts += fact(
            "gpu_graphics_active_ratio",
            Text("graphics active on GPU {index} of the same job", index=peer.gpu.index),
            view.mean(peer.counters.graphics),
            CONTRAST,
        )
    return Findings(facts)


CAUSE = Cause(
    id="gpu_imbalance",
    title=Text("Idles while a sibling of the same job is full"),
    row_class=FAULT,
    advice=Text("Hand out work by load instead of in turn (shortest queue), split long requests, or balance shards."),
    priority="P1",
    would_change=Text("Siblings with like graphics active, or a host that is busy for this GPU."),
    claim=_claim,
    findings=_findings,
    source=Text("contrast between siblings, from recordings"),
)
