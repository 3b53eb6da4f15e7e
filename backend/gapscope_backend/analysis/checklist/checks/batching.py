"""Batching is on, its batches fill the chip, and its window does not keep the GPU waiting."""

from __future__ import annotations

from gapscope_backend.analysis.checklist.check import Check, line, unseen
from gapscope_backend.analysis.checklist.facts import Facts, each_gpu, judge
from gapscope_backend.analysis.checklist.model import FAIL, PASS, WARN, Line
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE
from gapscope_backend.analysis.view import View

ID, TITLE = "batching", Text("Batching on, and its window fitting")
SMALL, WINDOW = ("batch_too_small",), ("upstream_wait",)
FILLED_SM_RATIO = 0.5
"""SM active over graphics active below which use is likely poor (DCGM documentation)."""
FEED = Text(
    "Put more into each launch: dynamic batching in the server, larger batches in training; then look at CUDA graphs "
    "for what stays small."
)
WAIT = Text(
    "Expected batch = arrival rate x window. If requests are rare, shorten the window (their latency pays for it); if "
    "they are many, send a batch as soon as it is full instead of when the window ends."
)
_make = line(ID, TITLE)


def _one(facts: Facts, view: View) -> Line | None:
    if not view.known.any():
        return None
    name = facts.name(view)
    small, waits = facts.share(view, *SMALL), facts.share(view, *WINDOW)
    if judge(small) != PASS and small >= waits:
        sm = view.mean(view.counters.while_busy(view.counters.sm), view.busy)
        filled = NONE if sm is None else Text(", which fill {share:.0%} of its SMs while it works", share=sm)
        figure = Text(
            "{gpu} spends {share:.0%} of the time on batches too small{filled}.", gpu=name, share=small, filled=filled
        )
        return _make(judge(small), figure, FEED, small)
    if judge(waits) != PASS:
        figure = Text(
            "{gpu} waits {share:.0%} of the time for requests or for a batching window.", gpu=name, share=waits
        )
        return _make(WARN if judge(waits) == WARN else FAIL, figure, WAIT, waits, "ratio")
    sm = view.mean(view.counters.while_busy(view.counters.sm), view.busy)
    if not facts.worked(view) or sm is None:
        return None
    if sm < FILLED_SM_RATIO:
        figure = Text(
            "{gpu}: its SMs are {share:.0%} active while it works, whatever holds it up now.", gpu=name, share=sm
        )
        return _make(WARN, figure, FEED, sm, "ratio")
    return _make(
        PASS, Text("{gpu}: its SMs are {share:.0%} active while it works.", gpu=name, share=sm), NONE, sm, "ratio"
    )


def _rule(facts: Facts) -> Line:
    return each_gpu(facts, _one, unseen(ID, TITLE, Text("No GPU was under load, or SM activity is not measured here.")))


CHECK = Check(ID, TITLE, _rule)
