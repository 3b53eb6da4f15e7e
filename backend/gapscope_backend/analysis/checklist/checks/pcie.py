"""The PCIe link runs at its maximum under load. Links idle down, so only cells with load count."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.checklist.check import Check, line, unseen
from gapscope_backend.analysis.checklist.facts import Facts, each_gpu
from gapscope_backend.analysis.checklist.model import FAIL, PASS, WARN, Line
from gapscope_backend.analysis.counters import held_cells
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE
from gapscope_backend.analysis.view import View

ID, TITLE = "pcie", Text("PCIe link at its maximum under load")
LOADED_RATIO = 0.1
LOADED_BYTES_PER_SECOND = 50e6
BELOW_FAIL, BELOW_WARN = 0.5, 0.05
ADVICE = Text(
    "Compare LnkSta with LnkCap (lspci -vv) under load; reseat the card, check slot, riser, bifurcation and firmware."
)
_make = line(ID, TITLE)


def _one(facts: Facts, view: View) -> Line | None:
    c, gpu = view.counters, view.gpu
    generation = held_cells(view.window, gpu.key, "pcie_link_generation")
    width = held_cells(view.window, gpu.key, "pcie_link_width_lanes")
    traffic = np.nan_to_num(c.rx) + np.nan_to_num(c.tx)
    loaded = (np.nan_to_num(c.graphics) >= LOADED_RATIO) | (traffic >= LOADED_BYTES_PER_SECOND)
    seen = loaded & ~np.isnan(generation) & ~np.isnan(width)
    if not seen.any() or gpu.pcie_generation is None or gpu.pcie_width is None:
        return None
    below = float(((generation < gpu.pcie_generation) | (width < gpu.pcie_width))[seen].mean())
    figure = Text(
        "{gpu}: generation {generation:.0f} x{width:.0f} under load, of generation {most} x{widest}; below it "
        "{share:.0%} of the loaded time.",
        gpu=facts.name(view),
        generation=float(np.median(generation[seen])),
        width=float(np.median(width[seen])),
        most=gpu.pcie_generation,
        widest=gpu.pcie_width,
        share=below,
    )
    status = FAIL if below >= BELOW_FAIL else WARN if below >= BELOW_WARN else PASS
    return _make(status, figure, NONE if status == PASS else ADVICE, below, "ratio")


def _rule(facts: Facts) -> Line:
    figure = Text("The link's state under load is not known: no load, or no readings of it.")
    return each_gpu(facts, _one, unseen(ID, TITLE, figure))


CHECK = Check(ID, TITLE, _rule)
