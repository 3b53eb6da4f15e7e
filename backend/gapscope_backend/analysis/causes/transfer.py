"""``h2d_copy``, ``d2h_copy`` and the coarser ``transfer``: the GPU's engines move data while its SMs idle.

How much of a cell went to copying is the larger of two measures: the PCIe rate over what the link can carry, and the
driver's utilization (which counts copy engines) above graphics active (which does not).
"""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact
from gapscope_backend.analysis.counters import link_bytes_per_second
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

PRACTICAL_LINK_SHARE = 0.85
"""Large pinned copies reach 85-92 % of a link's payload bandwidth; the rest is packet headers."""
TRAFFIC_LINK_SHARE = 0.02
"""Below this, PCIe carries commands and results (91,000 kernel launches a second need 0.4 % of a Gen5 x16 link)."""
STRONG_SHARE = 0.2
"""With a fifth of the time in copies, the host's time around them is copying too: pageable memory is staged by the
CPU at less than half the link's rate (seen: 0.4 for pageable and 1.0 for pinned memory, at most 0.01 elsewhere)."""
HOST_PER_COPY = 1.0 / STRONG_SHARE
"""Below that, native calls and waits count up to five times the copies' own time: staging and page faults."""

FULL = Text("of the PCIe link's {link:.0f} GB/s in use; the link is full")
PAGEABLE = Text("of the PCIe link's {link:.0f} GB/s in use; pageable memory would explain a rate so far below the link")

MOVERS = (Activity.COPY, Activity.DEVICE_WAIT, Activity.SYNC, Activity.NATIVE, Activity.LAUNCH, Activity.UNSEEN)


def engine_share(view: View) -> Floats:
    """Share of each cell in which the driver saw the GPU at something that is not graphics or compute; 0 unknown."""
    if not view.counters.exact:
        return np.zeros(view.seconds.size)
    return np.clip(np.nan_to_num(view.counters.utilization - view.counters.graphics), 0.0, 1.0)


def moving_share(view: View, *, to_device: bool) -> Floats:
    """Share of each cell that copies in one direction took; 0 where the other direction carries more, or unknown."""
    link = link_bytes_per_second(view.gpu)
    one, other = (view.counters.rx, view.counters.tx) if to_device else (view.counters.tx, view.counters.rx)
    rate = np.nan_to_num(one) / link
    leads = (rate >= TRAFFIC_LINK_SHARE) & (rate >= np.nan_to_num(other) / link)
    return np.where(leads, np.maximum(rate / PRACTICAL_LINK_SHARE, engine_share(view)), 0.0).clip(0.0, 1.0)


def copy_claim(moving: Floats) -> Claim:
    """Claim on idle time by the share of time that copies took."""
    strong = moving >= STRONG_SHARE
    around = np.minimum(1.0, moving * HOST_PER_COPY)
    named = np.where(moving > 0, 1.0, 0.0)
    idle: dict[Activity, Floats | float] = {
        Activity.COPY: named,
        Activity.SYNC: named,
        Activity.DEVICE_WAIT: around,
        Activity.NATIVE: around,
        Activity.UNSEEN: around,
        Activity.LAUNCH: np.where(strong, 1.0, moving),
        Activity.BLOCKED: np.where(strong, 1.0, 0.0),
        Activity.STALLED: np.where(strong, 1.0, 0.0),
    }
    return Claim(idle, confidence=0.9)


def copy_findings(view: View, *, to_device: bool) -> Findings:
    """PCIe rate against the link, and copy engines against SMs."""
    link = link_bytes_per_second(view.gpu)
    rate = view.mean(view.counters.rx if to_device else view.counters.tx)
    share = None if rate is None else rate / link
    metric = "pcie_rx_bytes_per_second" if to_device else "pcie_tx_bytes_per_second"
    text = PAGEABLE if share is not None and share < 0.5 else FULL
    return Findings(
        fact(metric, text.of(link=link / 1e9), share, STRONG_SHARE)
        + fact("gpu_utilization_ratio", Text("time in which only copy engines ran"), view.mean(engine_share(view)), 0.2)
        + fact("gpu_sm_active_ratio", Text("SMs active"), view.mean(view.counters.sm), 0.5)
    )


H2D = Cause(
    id="h2d_copy",
    title=Text("Copies data to the GPU"),
    row_class=FAULT,
    advice=Text(
        "Use pinned memory (pin_memory=True) and non_blocking copies on a stream of their own, overlap them with "
        "compute, send smaller types (uint8, fp16), and keep on the GPU what is used again."
    ),
    priority="P1",
    would_change=Text("Low PCIe traffic from host to device while the GPU idles."),
    claim=lambda view: copy_claim(moving_share(view, to_device=True)),
    findings=lambda view: copy_findings(view, to_device=True),
    activities=MOVERS,
    source=Text("PCI-SIG link rates; CUDA best practices: pinned against pageable memory"),
)
D2H = Cause(
    id="d2h_copy",
    title=Text("Copies data back to the host"),
    row_class=FAULT,
    advice=Text(
        "Fetch less and less often, reduce on the GPU first, copy into pinned memory without blocking, and overlap "
        "it with the next step."
    ),
    priority="P1",
    would_change=Text("Low PCIe traffic from device to host while the GPU idles."),
    claim=lambda view: copy_claim(moving_share(view, to_device=False)),
    findings=lambda view: copy_findings(view, to_device=False),
    activities=MOVERS,
    source=Text("PCI-SIG link rates; CUDA best practices: pinned against pageable memory"),
)


def _undirected(view: View) -> Claim:
    unknown = np.isnan(view.counters.rx) | np.isnan(view.counters.tx)
    copying = np.where(unknown & (engine_share(view) >= STRONG_SHARE), 1.0, 0.0)
    return Claim({Activity.COPY: copying}, confidence=0.5)


TRANSFER = Cause(
    id="transfer",
    title=Text("Moves data over PCIe"),
    row_class=FAULT,
    advice=Text("See which copies run (nsys profile --trace=cuda) and overlap or avoid them."),
    priority="P1",
    would_change=Text("PCIe counters, which would tell the direction."),
    claim=_undirected,
    activities=MOVERS,
    source=Text("PCI-SIG link rates; CUDA best practices: pinned against pageable memory"),
)
