"""``straggler``: the GPU spins in a collective until a slower peer of its job arrives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact
from gapscope_backend.analysis.causes.job import (
    SPIN_SM_RATIO,
    same_job,
    spins,
    waits_for_work_of,
)
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

ABSENT_SHARE = 0.3
"""Difference between ranks in the share of idle time that they spend in collectives; ranks in step show none."""


def _slow_peers(view: View) -> list[View]:
    return [peer for peer in view.peers if same_job(view, peer) and spins(view, peer)]


def _absent(view: View) -> Floats:
    """1 where this rank's threads stand in a collective on the CPU and those of some rank of its job do not."""
    mine = view.near_activity(Activity.COLLECTIVE)
    others = [peer.near_activity(Activity.COLLECTIVE) for peer in view.peers if same_job(view, peer)]
    if not mine.any() or not others:
        return np.zeros(view.seconds.size)
    return np.where(mine - np.min(np.array(others), axis=0) >= ABSENT_SHARE, 1.0, 0.0)


def _claim(view: View) -> Claim:
    spinning = _spinning(view)
    return replace(spinning, idle={Activity.COLLECTIVE: _absent(view)})


def _spinning(view: View) -> Claim:
    peers = _slow_peers(view)
    if not peers:
        working = max((waits_for_work_of(view, peer) for peer in view.peers if same_job(view, peer)), default=0.0)
        return Claim(busy=working, confidence=0.6)
    slowest = np.nanmin(np.nan_to_num(np.array([peer.counters.graphics for peer in peers]), nan=1.0), axis=0)
    mine = np.nan_to_num(view.counters.graphics)
    waiting = np.divide(mine - slowest, mine, out=np.zeros_like(mine), where=mine > slowest)
    return Claim(busy=waiting, confidence=0.85)


def _findings(view: View) -> Findings:
    facts = fact(
        "gpu_sm_active_ratio", Text("of the SMs are active while it counts as busy"), view.filling, SPIN_SM_RATIO
    )
    for peer in _slow_peers(view):
        index = peer.gpu.index
        active = Text("graphics active on GPU {index} of the same job", index=index)
        pipes = Text("tensor and FP pipes on GPU {index} of the same job, for the same work", index=index)
        facts += fact("gpu_graphics_active_ratio", active, view.mean(peer.counters.graphics), 0.7)
        facts += fact("gpu_tensor_active_ratio", pipes, peer.useful_pipes, None)
    return Findings(facts)


CAUSE = Cause(
    id="straggler",
    title=Text("Spins in a collective for a slower peer"),
    row_class=FAULT,
    advice=Text(
        "Look at the slow rank's own causes first; give every rank the same amount of work and the same input path."
    ),
    priority="P0",
    would_change=Text("Peers with equal graphics active, or more useful work on this GPU than on the idle one."),
    claim=_claim,
    findings=_findings,
    activities=(Activity.COLLECTIVE,),
    source=Text("NVIDIA NCCL: ranks spin in a collective's kernels; SM shares from recordings"),
)
