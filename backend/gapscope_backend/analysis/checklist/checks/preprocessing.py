"""Preprocessing does not hold up the thread that feeds the GPU."""

from __future__ import annotations

from gapscope_backend.analysis.checklist.check import Check, line, unseen
from gapscope_backend.analysis.checklist.facts import Facts, each_gpu, judge
from gapscope_backend.analysis.checklist.model import PASS, Line
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE
from gapscope_backend.analysis.view import View

ID, TITLE = "preprocessing", Text("Preprocessing off the feeding thread, or on the GPU")
CAUSES = ("cpu_preprocess", "gil_contention")
ADVICE = Text(
    "Move decoding, resizing, tokenising and tables to other processes, or onto the GPU (nvJPEG, DALI, torchvision "
    "on CUDA tensors); the feeding thread should only launch."
)
_make = line(ID, TITLE)


def _one(facts: Facts, view: View) -> Line | None:
    if not view.known.any():
        return None
    share = facts.share(view, *CAUSES)
    rows = [row for cause in CAUSES if (row := facts.row(view, cause)) is not None]
    status = judge(share)
    if view.host.sample_count == 0 and status == PASS:
        return unseen(
            ID,
            TITLE,
            Text("{gpu}: no Python stacks of its feeding threads.", gpu=facts.name(view)),
            Text("Allow stacks on this host."),
        )
    spots = [spot for row in sorted(rows, key=lambda row: -row.share) for spot in row.hotspots]
    where = NONE
    if spots and status != PASS:
        spot = spots[0]
        where = Text(", most in {function} ({file}:{line})", function=spot.function, file=spot.file, line=spot.line)
    figure = Text(
        "{gpu} waits {share:.0%} of the time for CPU work of its own process{where}.",
        gpu=facts.name(view),
        share=share,
        where=where,
    )
    return _make(status, figure, NONE if status == PASS else ADVICE, share, "ratio")


def _rule(facts: Facts) -> Line:
    return each_gpu(facts, _one, unseen(ID, TITLE, Text("No GPU was measured.")))


CHECK = Check(ID, TITLE, _rule)
