"""A Window of this host, sampled in memory through the agent's own sources and derivation."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from gapscope_agent.clock import Clock, SystemClock
from gapscope_agent.reading import Reading
from gapscope_agent.sampler import Sampler
from gapscope_agent.sources import build_sources
from gapscope_agent.sources.base import Context, Source
from gapscope_agent.sources.probe import probe
from gapscope_backend.analysis.window import Window
from gapscope_backend.cli.windows import window_of_readings

WARM_UP_NS = 1_000_000_000
"""Rates need a reading before, and some sources come once a second."""
SETTLE_SECONDS = 0.3
"""Counters lag by up to 0.13 s, and describe the time before they are read."""


def sample_window(
    seconds: float,
    *,
    sources: Sequence[Source] | None = None,
    context: Context | None = None,
    clock: Clock | None = None,
) -> Window:
    """Sample for a little more than ``seconds``; an interruption (KeyboardInterrupt) stops the sources first."""
    context = context or Context()
    clock = clock or SystemClock()
    origin = probe(context, clock)
    readings: list[Reading] = []
    sampler = Sampler(sources if sources is not None else build_sources(context), readings.append, clock)
    start_ns = origin.start_ns + WARM_UP_NS
    sampler.start()
    try:
        clock.wait(threading.Event(), WARM_UP_NS / 1e9 + seconds + SETTLE_SECONDS)
    finally:
        sampler.stop()
        context.driver.close()
    return window_of_readings(origin, tuple(readings), start_ns, start_ns + round(seconds * 1e9))
