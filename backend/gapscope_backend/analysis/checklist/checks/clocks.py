"""The clocks are not held down."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.causes.throttled import SLOWDOWN_BITS
from gapscope_backend.analysis.checklist.check import Check, line, unseen
from gapscope_backend.analysis.checklist.facts import Facts, each_gpu, judge
from gapscope_backend.analysis.checklist.model import PASS, Line
from gapscope_backend.analysis.view import View

ID, TITLE = "clocks", "Clocks not throttled"
POWER_CAP_BIT = 0x4
LOADED_RATIO = 0.1
NAMES = ((0x8, "hardware slowdown"), (0x20, "software thermal"), (0x40, "hardware thermal"), (0x80, "power brake"))
"""Bits of nvmlClocksEventReasons that mean that something is wrong."""
ADVICE = "Check cooling, power supply and limits: nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,TEMPERATURE."
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
    told = "" if clock is None or not peak else f" at {clock / 1e6:.0f} of {peak / 1e6:.0f} MHz"
    names = [name for bit, name in NAMES if ((bits & bit) != 0).any()]
    lost = max(slowed, facts.share(view, "throttled"))
    if judge(lost) != PASS:
        figure = (
            f"{facts.name(view)} is slowed {slowed:.0%} of the loaded time{told} ({', '.join(names) or 'set limit'})."
        )
        return _make(judge(lost), figure, ADVICE, lost, "ratio")
    # A full tensor load reaches the power limit and gives up about a quarter of the clock: that is no fault.
    limit = f", {capped:.0%} of the time at its power limit" if capped > 0 else ""
    return _make(PASS, f"{facts.name(view)} runs{told} under load{limit}.", "", loss, "ratio")


def _rule(facts: Facts) -> Line:
    return each_gpu(facts, _one, unseen(ID, TITLE, "No GPU was under load, or clock reasons are not told here."))


CHECK = Check(ID, TITLE, _rule)
