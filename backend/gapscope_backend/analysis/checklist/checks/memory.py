"""There is headroom in device memory, and the allocator is at rest."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.checklist.check import Check, line, unseen
from gapscope_backend.analysis.checklist.facts import Facts, each_gpu, judge
from gapscope_backend.analysis.checklist.model import FAIL, PASS, WARN, Line
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.quantity import quantity
from gapscope_backend.analysis.verdict import NONE
from gapscope_backend.analysis.view import View

ID, TITLE = "memory", Text("Memory headroom")
NEAR_FULL, FULL = 0.92, 0.98
"""Servers take about 0.9 of the memory at the start on purpose (vLLM's gpu-memory-utilization): no warning yet."""
_make = line(ID, TITLE)


def _one(facts: Facts, view: View) -> Line | None:
    name = facts.name(view)
    thrash = facts.share(view, "allocator_thrash")
    if judge(thrash) != PASS:
        figure = Text(
            "{gpu} waits {share:.0%} of the time while device memory is allocated and freed.", gpu=name, share=thrash
        )
        advice = Text(
            "Take out empty_cache(), keep shapes steady, or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True."
        )
        return _make(judge(thrash), figure, advice, thrash, "ratio")
    used, total = view.counters.memory, view.gpu.memory_total_bytes
    if not total or np.isnan(used).all():
        return None
    most = float(np.nanmax(used))
    share = most / total
    status = FAIL if share >= FULL else WARN if share >= NEAR_FULL else PASS
    figure = Text(
        "{gpu}: at most {most} of {total} in use ({share:.0%}).",
        gpu=name,
        most=quantity(most, "bytes"),
        total=quantity(float(total), "bytes"),
        share=share,
    )
    advice = Text(
        "Leave room for the largest request or batch: smaller caches or batches, or the next allocation fails."
    )
    return _make(status, figure, NONE if status == PASS else advice, share, "ratio")


def _rule(facts: Facts) -> Line:
    return each_gpu(facts, _one, unseen(ID, TITLE, Text("How much memory the GPU has or uses is not known.")))


CHECK = Check(ID, TITLE, _rule)
