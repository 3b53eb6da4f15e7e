"""The clocks are not held down."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.causes.throttled import SLOWDOWN_BITS
from gapscope_backend.analysis.checklist.check import Check, line, unseen
from gapscope_backend.analysis.checklist.facts import Facts, each_gpu, judge
from gapscope_backend.analysis.checklist.model import PASS, Line
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE
from gapscope_backend.analysis.view import View

ID, TITLE = "clocks", Text("Clocks not throttled")
POWER_CAP_BIT = 0x4
LOADED_RATIO = 0.1
NAMES = (
    (0x8, Text("hardware slowdown")),
    (0x20, Text("software thermal")),
    (0x40, Text("hardware thermal")),
    (0x80, Text("power brake")),
)
"""Bits of nvmlClocksEventReasons that mean that something is wrong."""
ADVICE = Text("Check cooling, power supply and limits: nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE.")
_make = line(ID, TITLE)


def _one(facts: Facts, view: View) -> Line | None:
    c = view.counters
    loaded = (np.nan_to_num(c.graphics) >= LOADED_RATIO) & ~np.isnan(c.reasons)
    if not loaded.any():
        return None
    bits = c.reasons[loaded].astype(np.int64)
    slowed = float(((bits & SLOWDOWN_BITS) != 0).mean())
    capped = float(((bits & POWER_CAP_BIT) != 0).mean())
    clock = float(np.nanmean(c.clock[loaded])) if not np.isnan(c.clock[loaded]).all() else None
    peak = view.gpu.max_sm_clock_hertz
    loss = 1.0 - clock / peak if clock is not None and peak else 0.0
    told = Text(" at {now:.0f} of {peak:.0f} MHz", now=clock / 1e6, peak=peak / 1e6) if clock and peak else NONE
    names = [name for bit, name in NAMES if ((bits & bit) != 0).any()]
    lost = max(slowed, facts.share(view, "throttled"))
    if judge(lost) != PASS:
        figure = Text(
            "{gpu} is slowed {share:.0%} of the loaded time{told} ({why:, }).",
            gpu=facts.name(view),
            share=slowed,
            told=told,
            why=names or [Text("set limit")],
        )
        return _make(judge(lost), figure, ADVICE, lost, "ratio")
    # A full tensor load reaches the power limit and gives up about a quarter of the clock: that is no fault.
    limit = Text(", {share:.0%} of the time at its power limit", share=capped) if capped > 0 else NONE
    figure = Text("{gpu} runs{told} under load{limit}.", gpu=facts.name(view), told=told, limit=limit)
    return _make(PASS, figure, NONE, loss, "ratio")


def _rule(facts: Facts) -> Line:
    return each_gpu(facts, _one, unseen(ID, TITLE, Text("No GPU was under load, or clock reasons are not told here.")))


CHECK = Check(ID, TITLE, _rule)
