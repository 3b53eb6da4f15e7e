"""The path behind the Reading seam: readings in, batches to the shipper, newest values for the live view.

Sources hand in readings from their threads; everything else happens on the event loop, once a second, or ten times a
second while somebody watches.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

from gapscope_agent.batch import BatchBuilder
from gapscope_agent.derive import Deriver
from gapscope_agent.reading import Origin, Reading
from gapscope_agent.shipper import Shipper
from gapscope_agent.wire import Event, LiveFrame

MAX_WAITING_READINGS = 50_000
FRESH_NS = 3_000_000_000
"""A live frame shows no value older than this."""


class Pipeline:
    """One run: a deriver and a batch builder, over a shipper that outlives it."""

    def __init__(self, origin: Origin, builder: BatchBuilder, shipper: Shipper, wall_ns: Callable[[], int]) -> None:
        self.deriver = Deriver(origin)
        self._builder = builder
        self._shipper = shipper
        self._wall_ns = wall_ns
        self._waiting: deque[Reading] = deque()
        self._lost = 0
        for note in origin.notes:
            self.deriver.note(Event(t=max(0, origin.start_ns), kind="note", text=note[:1000]))

    def put(self, reading: Reading) -> None:
        """Take a reading, from any thread; while the event loop is stuck, those beyond a limit are lost and told."""
        if len(self._waiting) >= MAX_WAITING_READINGS:
            self._lost += 1
            return
        self._waiting.append(reading)

    def pump(self) -> None:
        """Derive what waits."""
        waiting = self._waiting
        for _ in range(len(waiting)):
            self.deriver.feed(waiting.popleft())

    def close_batch(self) -> None:
        """Derive what waits and hand everything since the last batch to the shipper."""
        self.pump()
        if self._lost:
            text = f"{self._lost} readings were lost: the agent got no CPU"
            self.deriver.note(Event(t=self._wall_ns(), kind="readings_lost", text=text))
            self._lost = 0
        for batch in self._builder.close(self.deriver.drain(), self._wall_ns()):
            self._shipper.offer(batch)

    def live_frame(self, host: str) -> LiveFrame | None:
        """The newest values, as of now; None when there are none."""
        self.pump()
        t, values = self.deriver.newest(self._wall_ns() - FRESH_NS)
        if not values:
            return None
        return LiveFrame(host=host, t=t, values={entity: _without_nan(row) for entity, row in values.items()})


def _without_nan(row: dict[str, float]) -> dict[str, float | None]:
    return {metric: None if math.isnan(value) else value for metric, value in row.items()}
