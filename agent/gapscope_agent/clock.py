"""The clock, passed to whatever needs one, so that tests own the time."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """Wall time for stamps, monotonic time for durations, and waiting."""

    def wall_ns(self) -> int:
        """Nanoseconds since the epoch."""

    def mono_ns(self) -> int:
        """Nanoseconds that never go back."""

    def thread_cpu_ns(self) -> int:
        """CPU time of the calling thread."""

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait until ``event`` is set, at most ``seconds``; true when it is set."""


class SystemClock:
    """The clock of the machine."""

    def wall_ns(self) -> int:
        """Nanoseconds since the epoch."""
        return time.time_ns()

    def mono_ns(self) -> int:
        """Nanoseconds that never go back; they stand still while the machine is suspended."""
        return time.monotonic_ns()

    def thread_cpu_ns(self) -> int:
        """CPU time of the calling thread."""
        return time.thread_time_ns()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Wait until ``event`` is set, at most ``seconds``; true when it is set."""
        return event.wait(seconds)
