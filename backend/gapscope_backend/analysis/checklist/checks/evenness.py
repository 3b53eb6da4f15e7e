"""The GPUs of a host are evenly loaded."""

from __future__ import annotations

from gapscope_backend.analysis.checklist.check import Check, line, unseen
from gapscope_backend.analysis.checklist.facts import Facts
from gapscope_backend.analysis.checklist.model import FAIL, PASS, WARN, Line
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE

ID, TITLE = "evenness", Text("GPUs evenly loaded")
WARN_POINTS, FAIL_POINTS = 0.15, 0.30
ADVICE = Text(
    "Give each GPU its own process and share of the work, equal batches and equal data; look for one slow rank or a "
    "router that sends all to one."
)
_make = line(ID, TITLE)


def _rule(facts: Facts) -> Line:
    means = [(view, mean) for view in facts.views if (mean := view.mean(view.counters.graphics)) is not None]
    if len(means) < 2:
        return unseen(ID, TITLE, Text("Fewer than two GPUs were measured."))
    busiest, idlest = max(means, key=lambda pair: pair[1]), min(means, key=lambda pair: pair[1])
    spread = busiest[1] - idlest[1]
    status = FAIL if spread >= FAIL_POINTS else WARN if spread >= WARN_POINTS else PASS
    free = [facts.name(view) for view, _ in means if not view.gpu.owners]
    figure = Text(
        "{busiest} is active {most:.0%} of the time, {idlest} {least:.0%}.{nobody}",
        busiest=facts.name(busiest[0]),
        most=busiest[1],
        idlest=facts.name(idlest[0]),
        least=idlest[1],
        nobody=Text(" Nobody holds {free:, }.", free=free) if free else NONE,
    )
    return _make(status, figure, NONE if status == PASS else ADVICE, spread, "ratio")


CHECK = Check(ID, TITLE, _rule)
