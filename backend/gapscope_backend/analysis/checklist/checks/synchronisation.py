"""The host does not fetch results or synchronise at each step."""

from __future__ import annotations

from gapscope_backend.analysis.checklist.check import Check, line, unseen
from gapscope_backend.analysis.checklist.facts import Facts, each_gpu, judge
from gapscope_backend.analysis.checklist.model import PASS, Line
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE
from gapscope_backend.analysis.view import View

ID, TITLE = "synchronisation", Text("No needless synchronisation")
ADVICE = Text(
    "Keep results on the GPU: no .item(), .cpu(), print of tensors or synchronize() inside the step; log every n "
    "steps, copy with non_blocking=True."
)
_make = line(ID, TITLE)


def _one(facts: Facts, view: View) -> Line | None:
    share = facts.share(view, "sync_points")
    status = judge(share)
    if status == PASS and view.host.sample_count == 0:
        return None
    row = facts.row(view, "sync_points")
    spot = row.hotspots[0] if row and row.hotspots and status != PASS else None
    where = NONE
    if spot is not None:
        code = (spot.source or spot.function).strip()
        where = Text(", most at {file}:{line} ({code})", file=spot.file, line=spot.line, code=code)
    figure = Text(
        "{gpu} loses {share:.0%} of the time to results that each step waits for{where}.",
        gpu=facts.name(view),
        share=share,
        where=where,
    )
    return _make(status, figure, NONE if status == PASS else ADVICE, share, "ratio")


def _rule(facts: Facts) -> Line:
    figure = Text("No Python stacks of feeding threads; a synchronisation is seen there alone.")
    return each_gpu(facts, _one, unseen(ID, TITLE, figure, Text("Allow stacks on this host.")))


CHECK = Check(ID, TITLE, _rule)
