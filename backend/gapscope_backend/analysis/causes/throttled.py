"""``throttled``: the clocks are held down, weighed by the share of clock that is lost."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

SLOWDOWN_BITS = 0x8 | 0x20 | 0x40 | 0x80
"""Hardware slowdown, software and hardware thermal, power brake (nvmlClocksEventReasons)."""
LOST_CLOCK = 0.05
"""Clock loss below this is the clock's own stepping."""
HELD_CLOCK = 0.4
"""Loss from which lower clocks without a slowdown bit count: a set limit. At its normal power limit a full tensor
load loses about 0.25 of the clock, which is how the part is meant to run."""
UNDER_LOAD = 0.5


def lost_clock(view: View) -> Floats:
    """Share of the maximum SM clock that each busy cell went without, where that is not normal; else 0."""
    peak = view.gpu.max_sm_clock_hertz
    if not peak:
        return np.zeros(view.seconds.size)
    loss = np.clip(1.0 - view.counters.clock / peak, 0.0, 1.0)
    bits = np.nan_to_num(view.counters.reasons).astype(np.int64)
    slowed = ((bits & SLOWDOWN_BITS) != 0) & (loss >= LOST_CLOCK)
    held = (loss >= HELD_CLOCK) & (view.counters.graphics >= UNDER_LOAD)
    return np.where(slowed | held, np.nan_to_num(loss), 0.0)


def _claim(view: View) -> Claim:
    return Claim(busy=lost_clock(view), confidence=0.8)


def _findings(view: View) -> Findings:
    peak = view.gpu.max_sm_clock_hertz
    share = None if not peak else view.mean(view.counters.clock / peak, view.busy)
    temperature = view.mean(view.window.gpu_cells(view.gpu, "gpu_temperature_celsius"))
    return Findings(
        fact("gpu_sm_clock_hertz", Text("of the maximum SM clock while the GPU works"), share, 1.0 - HELD_CLOCK)
        + fact("gpu_temperature_celsius", Text("temperature"), temperature, None, "celsius")
        + fact(
            "gpu_power_watts",
            Text("power, of {limit:.0f} W allowed", limit=view.gpu.power_limit_watts or 0.0),
            view.mean(view.counters.power),
            None,
            "watts",
        )
    )


CAUSE = Cause(
    id="throttled",
    title=Text("Runs at reduced clocks"),
    row_class=FAULT,
    advice=Text(
        "Check cooling, power supply and limits (nvidia-smi -q -d PERFORMANCE,CLOCK,POWER) and locked clocks "
        "(nvidia-smi -rgc)."
    ),
    priority="P2",
    would_change=Text("SM clock near its maximum under load."),
    claim=_claim,
    findings=_findings,
    source=Text("NVML clocks event reasons"),
)
