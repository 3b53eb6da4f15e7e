"""Which GPUs work for one job, and what their work amounts to: shared by the causes that compare GPUs."""

from __future__ import annotations

from gapscope_backend.analysis.counters import held_cells
from gapscope_backend.analysis.view import View

SPIN_SM_RATIO = 0.5
"""A collective's kernels wait on a few SMs: SM active over graphics active is well below half (seen 0.25), while
useful work of a job worth two GPUs fills more (seen 0.96)."""
ALMOST_FULL_RATIO = 0.8
IDLING_RATIO = 0.7
LIKE_WORK = 2.0
"""Ranks of one job do like work; the pipes of the waiting one show at most this many times the other's."""
COLLECTIVE_BYTES_PER_SECOND = 1e7
"""NVLink traffic of ranks that exchange gradients or activations (seen: 3 GB/s); without collectives it is 0."""
UNEVEN_FILLING = 0.7


def _ancestors(view: View, pid: int) -> set[int]:
    parents = {p.pid: p.parent_pid for p in view.window.processes}
    found: set[int] = set()
    while pid in parents and pid not in found:
        found.add(pid)
        pid = parents[pid]
    return found


def same_job(view: View, peer: View) -> bool:
    """True where one process holds both GPUs, or owners have an ancestor in common in the tree of processes.

    Where that tree is not known, GPUs that both exchange data over NVLink are taken for one job's.
    """
    mine: set[int] = set().union(*(_ancestors(view, pid) | {pid} for pid in view.gpu.owners))
    theirs: set[int] = set().union(*(_ancestors(view, pid) | {pid} for pid in peer.gpu.owners))
    if mine & theirs:
        return True
    known = {process.pid for process in view.window.processes}
    return not known & (mine | theirs) and communicates(view) and communicates(peer)


def spins(view: View, peer: View) -> bool:
    """Does ``view`` look full while it does no more than ``peer``, which idles? Then it waits in a collective."""
    mine, theirs = view.useful_pipes, peer.useful_pipes
    return mine is not None and theirs is not None and may_spin(view, peer) and mine <= LIKE_WORK * theirs


def may_spin(view: View, peer: View) -> bool:
    """Does ``view`` look full with few SMs at work beside a ``peer`` that idles, as far as is known?"""
    active, peer_active, full = view.active, peer.active, view.filling
    if active is None or peer_active is None or full is None:
        return False
    return active >= ALMOST_FULL_RATIO and peer_active <= IDLING_RATIO and full <= SPIN_SM_RATIO


def communicates(view: View) -> bool:
    """Does the GPU exchange data with others over NVLink?"""
    rates = [view.mean(held_cells(view.window, view.gpu.key, f"nvlink_{way}_bytes_per_second", view.gpu.counter_lag_ns))
             for way in ("rx", "tx")]  # fmt: skip
    return max((rate for rate in rates if rate is not None), default=0.0) >= COLLECTIVE_BYTES_PER_SECOND


def waits_for_work_of(view: View, peer: View) -> float:
    """Share of the busy time in which ``view`` waits in a collective for a ``peer`` that works all the time; 0 if not.

    Ranks do like work and end their steps together; the one whose SMs are filled for half as long as the other's has
    waited for the rest. Without traffic between the GPUs they are no ranks of one collective.
    """
    active, peer_active = view.active, peer.active
    full, theirs = view.filling, peer.filling
    if active is None or peer_active is None or full is None or theirs is None or not theirs:
        return 0.0
    both_full = min(active, peer_active) >= ALMOST_FULL_RATIO and communicates(view) and communicates(peer)
    return 1.0 - full / theirs if both_full and full <= UNEVEN_FILLING * theirs else 0.0
