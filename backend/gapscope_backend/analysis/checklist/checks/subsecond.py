"""The sub-second view is there: hardware counters, ten times a second."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.checklist.check import Check, line, unseen
from gapscope_backend.analysis.checklist.facts import Facts, each_gpu
from gapscope_backend.analysis.checklist.model import FAIL, PASS, WARN, Line
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE
from gapscope_backend.analysis.view import View

ID, TITLE = "subsecond", Text("Sub-second view available")
FINE_SECONDS = 0.15
"""Ten times a second with half a period to spare."""
COARSE_SECONDS = 1.5
_make = line(ID, TITLE)


def _one(facts: Facts, view: View) -> Line | None:
    series = facts.window.series.get((view.gpu.key, view.counters.source))
    name = facts.name(view)
    if series is None or np.isnan(series.values).all():
        return _make(
            FAIL,
            Text("{gpu}: nothing tells when it works.", gpu=name),
            Text("See the state of the sources on this host."),
        )
    if series.times.size < 3:
        return None
    steps = np.diff(series.times) / 1e9
    period = float(np.median(steps))
    late = float((steps > 2 * period).mean())
    only = Text("no hardware counters, only {source}", source=view.counters.source)
    figure = Text(
        "{gpu}: {source}, every {period:.0f} ms, {late:.1%} of the steps late.",
        gpu=name,
        source=Text("hardware counters (GPM)") if view.counters.exact else only,
        period=period * 1e3,
        late=late,
    )
    if period > COARSE_SECONDS:
        return _make(
            FAIL, figure, Text("Sample ten times a second; gaps hide in averages over seconds."), period, "seconds"
        )
    if not view.counters.exact:
        advice = Text(
            "Use a GPU with GPM counters (Hopper and newer) or dcgm-exporter; utilization hides gaps under 200 ms."
        )
        return _make(WARN, figure, advice, period, "seconds")
    if period > FINE_SECONDS:
        return _make(
            WARN, figure, Text("Sample ten times a second; shorter gaps are averaged away."), period, "seconds"
        )
    return _make(PASS, figure, NONE, period, "seconds")


def _rule(facts: Facts) -> Line:
    return each_gpu(facts, _one, unseen(ID, TITLE, Text("There is no GPU here, or the span is too short.")))


CHECK = Check(ID, TITLE, _rule)
