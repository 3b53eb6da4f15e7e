"""From moments to the agent's stream: paths and secrets hidden, held in the ring while nobody needs them, states told
once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from gapscope_agent.reading import Reading, SourceState, Stacks
from gapscope_agent.stacks.guard import Standing
from gapscope_agent.stacks.messages import Moment
from gapscope_agent.stacks.paths import FrameRedactor
from gapscope_agent.stacks.ring import Ring

SOURCE = "stacks"


class Outlet:
    """Called from the threads of all targets; ``emit`` is called by one at a time."""

    def __init__(self, emit: Callable[[Reading], None], redactor: FrameRedactor, *, hold: bool) -> None:
        self._emit = emit
        self._redactor = redactor
        self._ring = Ring() if hold else None
        self._lock = threading.Lock()
        self._told: dict[str, str] = {}
        self.cpu_seconds = 0.0

    def stacks(self, pid: int, moments: Sequence[Moment], *, flowing: bool) -> None:
        """Pass on, or hold back while nothing flows."""
        with self._lock:
            for moment in moments:
                stacks = Stacks(t=moment.t, pid=pid, threads=self._redactor.threads(moment.threads))
                if self._ring is None or flowing:
                    self._emit(stacks)
                else:
                    self._ring.keep(stacks)

    def release(self) -> None:
        """Pass on what was held back."""
        with self._lock:
            for stacks in self._ring.take() if self._ring is not None else ():
                self._emit(stacks)

    def state(self, t: int, source: str, standing: Standing) -> None:
        """Tell a state when it is another than the last one told of this source."""
        with self._lock:
            if self._told.get(source) != standing.state:
                self._told[source] = standing.state
                self._emit(SourceState(t=t, source=source, state=standing.state, reason=standing.reason[:900]))

    def forget(self, source: str) -> None:
        """A source that is no more; should its name come back, its state is told anew."""
        with self._lock:
            self._told.pop(source, None)

    def spent(self, cpu_seconds: float) -> None:
        """Add to what sampling cost."""
        with self._lock:
            self.cpu_seconds += cpu_seconds
