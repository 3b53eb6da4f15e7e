"""Position under the roofs: how near the work comes to memory bandwidth, tensor pipes and FP32 pipe while it runs."""

from __future__ import annotations

from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import Level
from gapscope_backend.analysis.view import View

PRACTICAL = {"memory": 0.92, "tensor": 0.93, "fp32": 0.8}
"""What good kernels reach of each peak: 0.925 seen in matrix-vector products, 0.93 in BF16 matrix products (as the DCGM
documentation has it), 0.77 in FP32 ones."""
LABELS = {
    "memory": Text("of peak memory bandwidth while it works"),
    "tensor": Text("of the tensor pipes' peak while it works"),
    "fp32": Text("of the FP32 pipe's peak while it works"),
}


def read_roofs(view: View) -> tuple[Level, ...]:
    """One level each; the nearest is the one with the largest share of what can be reached."""
    c = view.counters
    pipes = {"memory": c.dram, "tensor": c.tensor, "fp32": c.fp32}
    shares = {name: view.mean(c.while_busy(cells), view.busy) for name, cells in pipes.items()}
    known = {name: share / PRACTICAL[name] for name, share in shares.items() if share is not None}
    nearest = max(known, key=lambda name: known[name]) if any(known.values()) else None
    return tuple(
        Level("roofs", f"{name}_roof_ratio", LABELS[name], share, "ratio", name == nearest)
        for name, share in shares.items()
    )
