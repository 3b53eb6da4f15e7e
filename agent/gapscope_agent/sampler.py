"""Runs sources on their grids: one thread a lane, so that a call that hangs stops no other lane.

Driver calls at 10 Hz, slower driver calls, the host's figures and the process tree are lanes of their own. A watch
thread reports a source whose call runs past its deadline while it still hangs; when the call returns, the source is
``ok`` again. Readings are handed to ``on_reading`` on the thread that made them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from gapscope_agent.clock import Clock, SystemClock
from gapscope_agent.reading import Reading
from gapscope_agent.schedule import NS
from gapscope_agent.source_runner import SourceCost, SourceRunner
from gapscope_agent.sources.base import Source
from gapscope_agent.sources.probe import probe

__all__ = ["Sampler", "SourceCost", "probe"]

WATCH_SECONDS = 0.25
START_DELAY_NS = 20_000_000
"""Time for the threads to start, so that the first tick of each source is on the grid."""

logger = logging.getLogger(__name__)


class Sampler:
    """``on_reading`` is called from several threads and must not block for long."""

    def __init__(
        self, sources: Sequence[Source], on_reading: Callable[[Reading], None], clock: Clock | None = None
    ) -> None:
        self._clock = clock or SystemClock()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        origin_ns = self._clock.mono_ns() + START_DELAY_NS
        self._runners = [SourceRunner(source, on_reading, self._clock, origin_ns) for source in sources]

    def start(self) -> None:
        """Start the threads; readings come from now on. A sampler is started once."""
        if self._threads:
            raise RuntimeError("This sampler was started before; make a new one.")
        for lane in dict.fromkeys(runner.source.lane for runner in self._runners):
            runners = [runner for runner in self._runners if runner.source.lane == lane]
            self._threads.append(threading.Thread(target=self._run_lane, args=(runners,), name=f"lane-{lane}"))
        self._threads.append(threading.Thread(target=self._run_watch, name="lane-watch"))
        for thread in self._threads:
            thread.daemon = True
            thread.start()

    def stop(self, timeout_seconds: float = 2.0) -> bool:
        """Stop all threads and close the sources. False when a call still hangs; its thread is left behind."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(timeout_seconds)
        return not any(thread.is_alive() for thread in self._threads)

    def costs(self) -> list[SourceCost]:
        """The cost and state of each source, in the order of the sources."""
        return [runner.cost() for runner in self._runners]

    def _run_lane(self, runners: list[SourceRunner]) -> None:
        while not self._stopping.is_set():
            wait_ns = min(runner.grid.due_ns for runner in runners) - self._clock.mono_ns()
            if wait_ns > 0 and self._clock.wait(self._stopping, wait_ns / NS):
                break
            for runner in runners:
                self._guard(runner.tick)
        for runner in runners:
            self._guard(runner.close)

    def _run_watch(self) -> None:
        while not self._clock.wait(self._stopping, WATCH_SECONDS):
            for runner in self._runners:
                self._guard(runner.check_deadline)

    def _guard(self, step: Callable[[], None]) -> None:
        """A fault of ``on_reading`` must not end the lane."""
        try:
            step()
        except Exception:
            logger.exception("a reading could not be handed on")
