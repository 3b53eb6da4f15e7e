"""``unallocated``: no process holds the GPU."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import UNUSED, Cause, Claim, Findings, fact
from gapscope_backend.analysis.counters import held_cells
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats


def _holders(view: View) -> Floats:
    return held_cells(view.window, view.gpu.key, "gpu_processes_count")


def _claim(view: View) -> Claim:
    nobody = np.where(_holders(view) < 1, 1.0, 0.0)
    return Claim(dict.fromkeys(Activity, nobody), confidence=0.95)


def _findings(view: View) -> Findings:
    memory = view.mean(view.counters.memory)
    return Findings(
        fact(
            "gpu_processes_count",
            Text("processes that hold a context on it"),
            view.mean(_holders(view)),
            1.0,
            "processes",
        )
        + fact("gpu_memory_used_bytes", Text("memory in use"), memory, None, "bytes")
    )


CAUSE = Cause(
    id="unallocated",
    title=Text("Nobody holds the GPU"),
    row_class=UNUSED,
    advice=Text("Give the GPU work, share it with another job, or hand it back."),
    priority="",
    would_change=Text("A process with a context on the GPU."),
    claim=_claim,
    findings=_findings,
    source=Text("NVML process lists"),
)
