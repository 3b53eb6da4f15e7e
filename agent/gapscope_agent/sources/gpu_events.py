"""``gpu_events``: errors that the driver reports of a GPU (Xid), once a second.

Each GPU has an event set of its own, so that an event needs no search for the GPU that it is of. A call that finds
nothing answers at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gapscope_agent.errors import SourceUnavailableError
from gapscope_agent.nvml.session import Session
from gapscope_agent.reading import GpuXid, Reading
from gapscope_agent.sources.base import Context, GpuSource

MOST_AT_ONCE = 100
"""A GPU that reports more in a second tells nothing new."""


class GpuEvents(GpuSource):
    """Xid errors since the last look."""

    name = "gpu_events"
    lane = "gpu_slow"
    period_seconds = 1.0
    deadline_seconds = 2.0
    phase_seconds = 0.64

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._sets: dict[int, Any] = {}

    def attach(self, session: Session) -> None:
        """Ask for the events of each GPU that can tell of them. Raises SourceUnavailableError where none can."""
        self._sets, reason = {}, "there is no GPU"
        kind = session.constant("nvmlEventTypeXidCriticalError")
        for device in session.devices:
            events, failure = session.ask("nvmlEventSetCreate")
            if failure is None:
                _, failure = session.ask("nvmlDeviceRegisterEvents", device.handle, kind, events)
            if failure is None:
                self._sets[device.index] = events
            else:
                reason = failure.reason
                if events is not None:
                    session.try_ask("nvmlEventSetFree", events)
        if not self._sets:
            raise SourceUnavailableError(f"no GPU tells of its errors: {reason}")

    def sample_session(self, session: Session, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        """A reading for each error; the driver does not say when in the last second it was."""
        readings = []
        for index, events in self._sets.items():
            for _ in range(MOST_AT_ONCE):
                event, failure = session.try_ask("nvmlEventSetWait_v2", events, 0)
                if failure is not None:  # none left, or the GPU went away: the other sources tell of that
                    break
                readings.append(GpuXid(t=now_ns, mono=mono_ns, gpu=index, code=int(event.eventData)))
        return readings

    def close(self) -> None:
        """Give the sets back."""
        if self._session is not None:
            for events in self._sets.values():
                self._session.try_ask("nvmlEventSetFree", events)
        super().close()
