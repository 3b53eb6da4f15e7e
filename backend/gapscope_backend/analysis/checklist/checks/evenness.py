"""The GPUs of a host are evenly loaded."""

from __future__ import annotations

from gapscope_backend.analysis.checklist.check import Check, line, unseen
from gapscope_backend.analysis.checklist.facts import Facts
from gapscope_backend.analysis.checklist.model import FAIL, PASS, WARN, Line

ID, TITLE = "evenness", "GPUs evenly loaded"
WARN_POINTS, FAIL_POINTS = 0.15, 0.30
ADVICE = (
    "Give each GPU its own process and share of the work, equal batches and equal data; look for one slow rank or a "
    "router that sends all to one."
)
_make = line(ID, TITLE)


def _rule(facts: Facts) -> Line:
    means = [(view, mean) for view in facts.views if (mean := view.mean(view.counters.graphics)) is not None]
    if len(means) < 2:
        return unseen(ID, TITLE, "Fewer than two GPUs were measured.")
    busiest, idlest = max(means, key=lambda pair: pair[1]), min(means, key=lambda pair: pair[1])
    spread = busiest[1] - idlest[1]
    status = FAIL if spread >= FAIL_POINTS else WARN if spread >= WARN_POINTS else PASS
    free = ", ".join(facts.name(view) for view, _ in means if not view.gpu.owners)
    nobody = f" Nobody holds {free}." if free else ""
    figure = (
        f"{facts.name(busiest[0])} is active {busiest[1]:.0%} of the time, {facts.name(idlest[0])} {idlest[1]:.0%}."
        f"{nobody}"
    )
    return _make(status, figure, "" if status == PASS else ADVICE, spread, "ratio")


CHECK = Check(ID, TITLE, _rule)
