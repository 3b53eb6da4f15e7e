"""Which GPUs work for one job, and what their work amounts to: shared by the causes that compare GPUs."""

from __future__ import annotations

from gapscope_backend.analysis.view import View

SPIN_SM_RATIO = 0.5
"""A collective's kernels wait on a few SMs: SM active over graphics active is well below half (seen 0.25), while
useful work of a job worth two GPUs fills more (seen 0.96)."""
ALMOST_FULL_RATIO = 0.8
IDLING_RATIO = 0.7
LIKE_WORK = 2.0
"""Ranks of one job do like work; the pipes of the waiting one show at most this many times the other's."""


def _ancestors(view: View, pid: int) -> set[int]:
    parents = {p.pid: p.parent_pid for p in view.window.processes}
    found: set[int] = set()
    while pid in parents and pid not in found:
        found.add(pid)
        pid = parents[pid]
    return found


def same_job(view: View, peer: View) -> bool:
    """True where one process holds both GPUs, or owners have an ancestor in common in the tree of processes."""
    mine: set[int] = set().union(*(_ancestors(view, pid) | {pid} for pid in view.gpu.owners))
    theirs: set[int] = set().union(*(_ancestors(view, pid) | {pid} for pid in peer.gpu.owners))
    return bool(mine & theirs)


def filling(view: View) -> float | None:
    """SM active over graphics active, weighted by busy time."""
    return view.mean(view.counters.while_busy(view.counters.sm), view.busy)


def useful_pipes(view: View) -> float | None:
    """Mean activity of tensor and FP pipes: the work done, whatever the time that it took."""
    pipes = (view.counters.tensor, view.counters.fp32, view.counters.fp64, view.counters.fp16)
    means = [mean for mean in (view.mean(pipe) for pipe in pipes) if mean is not None]
    return sum(means) if means else None


def spins(view: View, peer: View) -> bool:
    """Does ``view`` look full while it does no more than ``peer``, which idles? Then it waits in a collective."""
    active, peer_active = view.mean(view.counters.graphics), view.mean(peer.counters.graphics)
    full, mine, theirs = filling(view), useful_pipes(view), useful_pipes(peer)
    if active is None or peer_active is None or full is None or mine is None or theirs is None:
        return False
    looks_full = active >= ALMOST_FULL_RATIO and peer_active <= IDLING_RATIO
    return looks_full and full <= SPIN_SM_RATIO and mine <= LIKE_WORK * theirs
