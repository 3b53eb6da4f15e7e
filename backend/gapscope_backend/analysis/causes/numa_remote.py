"""``numa_remote``: the threads that feed the GPU run on another socket than the one the GPU hangs on."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact
from gapscope_backend.analysis.causes.transfer import MOVERS, copy_claim, engine_share, moving_share
from gapscope_backend.analysis.counters import held_cells, link_bytes_per_second
from gapscope_backend.analysis.cpu import cpu_list
from gapscope_backend.analysis.feeders import feeding_threads
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

REMOTE_SHARE = 0.5
"""A thread that spends less of its time than this on the far socket is being moved about, not placed there."""
ENGINE_BUSY = 0.6
SLOW_LINK = 0.7
"""A copy engine that runs nearly all the time at less than this share of its link waits for memory far away; pageable
memory is slower still, but then the engine itself waits for the host."""
REMOTE_LOSS = 0.3
"""What staged copies lose to the far socket: its memory has two thirds of the bandwidth across the link between the
sockets (Intel Memory Latency Checker and AMD's NPS figures agree on 0.6 to 0.75)."""


def remote_share(view: View) -> Floats:
    """Share of the feeding threads that last ran outside the GPU's own CPUs, per cell; NaN where it is not known."""
    near = cpu_list(view.gpu.cpu_affinity)
    threads = feeding_threads(view.host.samples, view.host.feeders) or [(pid, pid) for pid in view.gpu.owners]
    if not near or len(near) >= view.window.logical_cpus or not threads:
        return np.full(view.seconds.size, np.nan)
    last = np.array([held_cells(view.window, f"thread:{p}/{t}", "thread_last_cpu_index") for p, t in threads])
    known = ~np.isnan(last)
    far = known & ~np.isin(np.nan_to_num(last, nan=-1.0).astype(np.int64), sorted(near))
    count = known.sum(axis=0)
    share = np.full(view.seconds.size, np.nan)
    np.divide(far.sum(axis=0), count, out=share, where=count > 0)
    return share


def is_remote(view: View) -> bool:
    """Do the feeding threads mostly run on the far socket?"""
    return (view.mean(remote_share(view)) or 0.0) >= REMOTE_SHARE


def _rate(view: View) -> Floats:
    return np.fmax(view.counters.rx, view.counters.tx) / link_bytes_per_second(view.gpu)


def _claim(view: View) -> Claim:
    if not is_remote(view):
        return Claim()
    moving = np.maximum(moving_share(view, to_device=True), moving_share(view, to_device=False))
    slow = (engine_share(view) >= ENGINE_BUSY) & (_rate(view) < SLOW_LINK)
    staged = (moving > 0) & (_rate(view) < SLOW_LINK)
    part = np.where(slow, 1.0, np.where(staged, REMOTE_LOSS, 0.0))
    claim = copy_claim(moving)
    return Claim({activity: share * part for activity, share in claim.idle.items()}, confidence=0.7)


def _findings(view: View) -> Findings:
    return Findings(
        fact("thread_last_cpu_index", Text("time of the feeding threads on CPUs that are not the GPU's own"),
             view.mean(remote_share(view)), REMOTE_SHARE)
        + fact("pcie_rx_bytes_per_second", Text("of the PCIe link in use"), view.mean(_rate(view)), SLOW_LINK)
    )  # fmt: skip


CAUSE = Cause(
    id="numa_remote",
    title=Text("Is fed from the far socket"),
    row_class=FAULT,
    advice=Text(
        "Bind the process to the GPU's socket: numactl --cpunodebind=N --membind=N, with N from nvidia-smi topo -m."
    ),
    priority="P2",
    would_change=Text("Feeding threads on the GPU's own CPUs, or copies at the link's full rate."),
    claim=_claim,
    findings=_findings,
    activities=MOVERS,
    source=Text("nvidia-smi topo; Intel Memory Latency Checker, AMD NPS tuning guides"),
)
