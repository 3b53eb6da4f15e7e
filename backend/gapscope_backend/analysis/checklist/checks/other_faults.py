"""Nothing else costs GPU time: the ledger's faults that no other line is about."""

from __future__ import annotations

from gapscope_backend.analysis.causes.cause import FAULT
from gapscope_backend.analysis.checklist.check import Check, line, unseen
from gapscope_backend.analysis.checklist.facts import Facts, each_gpu, judge
from gapscope_backend.analysis.checklist.model import PASS, WARN, Line
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE
from gapscope_backend.analysis.view import View

ID, TITLE = "other_faults", Text("Nothing else costs GPU time")
ELSEWHERE = frozenset(
    {
        "cpu_preprocess",
        "gil_contention",
        "dataloader_starved",
        "batch_too_small",
        "upstream_wait",
        "no_tensor_cores",
        "sync_points",
        "gpu_imbalance",
        "straggler",
        "pcie_degraded",
        "numa_remote",
        "throttled",
        "allocator_thrash",
        "memory_pressure",
        "cpu_quota",
        "cpu_oversubscribed",
    }
)
"""Causes that have a line of their own."""
_make = line(ID, TITLE)


def _one(facts: Facts, view: View) -> Line | None:
    judged = next((gpu for gpu in facts.verdict.gpus if gpu.gpu == view.gpu.key), None)
    if judged is None or not view.known.any():
        return None
    faults = [row for row in judged.ledger if row.row_class == FAULT and row.cause not in ELSEWHERE]
    shared = [row for row in judged.ledger if row.cause == "gpu_shared"]
    share = sum(row.share for row in (*faults, *shared))
    status = judge(sum(row.share for row in faults))
    if status == PASS and judge(share) != PASS:  # a second tenant is somebody's choice, and worth a look
        status = WARN
    if status == PASS:
        figure = Text("{gpu} loses {share:.0%} of the time to other faults.", gpu=facts.name(view), share=share)
        return _make(PASS, figure, NONE, share, "ratio")
    most = max((*faults, *shared), key=lambda row: row.share)
    figure = Text(
        "{gpu} loses {share:.0%} of the time, most to {cause}: {title} ({most:.0%}).",
        gpu=facts.name(view),
        share=share,
        cause=most.cause,
        title=most.title,
        most=most.share,
    )
    return _make(status, figure, most.advice, share, "ratio")


def _rule(facts: Facts) -> Line:
    return each_gpu(facts, _one, unseen(ID, TITLE, Text("No GPU was measured.")))


CHECK = Check(ID, TITLE, _rule)
