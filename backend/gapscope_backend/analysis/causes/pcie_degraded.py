"""``pcie_degraded``: copies take long because the link runs below its maximum under load."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact
from gapscope_backend.analysis.causes.transfer import MOVERS, copy_claim, moving_share
from gapscope_backend.analysis.counters import held_cells
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats


def degraded(view: View) -> Floats:
    """1 where the link is below the GPU's maximum, 0 where it is not or is not known."""
    generation = held_cells(view.window, view.gpu.key, "pcie_link_generation")
    width = held_cells(view.window, view.gpu.key, "pcie_link_width_lanes")
    below = (generation < (view.gpu.pcie_generation or 0)) | (width < (view.gpu.pcie_width or 0))
    return below.astype(np.float64)


def _claim(view: View) -> Claim:
    below = degraded(view)
    moving = np.maximum(moving_share(view, to_device=True), moving_share(view, to_device=False))
    return copy_claim(moving * below)


def _findings(view: View) -> Findings:
    below = view.mean(degraded(view))
    return Findings(fact("pcie_link_width_lanes", Text("time with the link below its maximum, under load"), below, 0.5))


CAUSE = Cause(
    id="pcie_degraded",
    title=Text("Copies over a PCIe link below its maximum"),
    row_class=FAULT,
    advice=Text("Reseat the card, check slot, riser and firmware; compare LnkSta with LnkCap in lspci -vv under load."),
    priority="P1",
    would_change=Text("Generation and width at their maxima while data moves."),
    claim=_claim,
    findings=_findings,
    activities=MOVERS,
    source=Text("PCI-SIG link rates"),
)
