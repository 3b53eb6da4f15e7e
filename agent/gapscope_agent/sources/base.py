"""What a source is: one kind of reading, asked for at a fixed period.

A source does no arithmetic over time; it answers what a driver or the kernel said, with the reason beside each missing
figure. It keeps no thread and reads no clock: the sampler calls it with the time.
"""

from __future__ import annotations

import abc
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from gapscope_agent.nvml.driver import Driver
from gapscope_agent.nvml.session import Session
from gapscope_agent.reading import Reading
from gapscope_agent.sources.drop_watch import DropWatch
from gapscope_agent.sources.owners import GpuOwners
from gapscope_agent.stacks.messages import ProcessFacts


@dataclass(frozen=True)
class Context:
    """What sources share. Paths can point into a stand-in tree; ``redact`` hides secrets in command lines.

    ``drops`` sees each look at a GPU the moment it is taken. ``facts`` asks a side with more rights what the kernel
    refuses this one. ``attention`` is set while somebody wants every figure at once: sources then hold nothing back
    and spare nothing.
    """

    driver: Driver = field(default_factory=Driver)
    owners: GpuOwners = field(default_factory=GpuOwners)
    drops: DropWatch = field(default_factory=DropWatch)
    facts: Callable[[list[int]], list[ProcessFacts]] | None = None
    proc: Path = Path("/proc")
    cgroup: Path = Path("/sys/fs/cgroup")
    redact: bool = True
    attention: threading.Event = field(default_factory=threading.Event)


class Source(abc.ABC):
    """One source. Sources of one ``lane`` share a thread, so that a call that hangs stops its lane alone.

    ``phase_seconds`` shifts the source's ticks within its period, to keep lanes from meeting in the driver.
    """

    name: ClassVar[str]
    lane: ClassVar[str]
    period_seconds: ClassVar[float]
    deadline_seconds: ClassVar[float]
    phase_seconds: ClassVar[float] = 0.0

    shift_seconds = 0.0
    """Set by sample() to ask that its ticks move by this much from now on; the sampler puts it back to 0."""

    def __init__(self, context: Context) -> None:
        self.context = context

    @abc.abstractmethod
    def open(self) -> None:
        """Get ready to sample; also called again after a failure. Raises SourceUnavailableError with the reason."""

    @abc.abstractmethod
    def sample(self, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        """The readings of this tick, stamped with the given wall and monotonic time."""

    def rest(self, mono_ns: int) -> Sequence[Reading]:
        """Readings that sample() held back; called once, before close()."""
        return ()

    def close(self) -> None:
        """Let go of what open() took. Called once, at the end."""
        return


class GpuSource(Source):
    """A source that asks the driver. Subclasses get the session and rebuild their state when it is a new one."""

    _session: Session | None = None

    def open(self) -> None:
        """Open the driver, or raise the reason why there is none."""
        self._current()

    def sample(self, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        """One reading for each GPU."""
        return self.sample_session(self._current(), now_ns, mono_ns)

    def close(self) -> None:
        """Forget the session; its owner is the driver."""
        self._session = None

    def _current(self) -> Session:
        session = self.context.driver.session()
        if session is not self._session:
            self.attach(session)
            self._session = session
        return session

    def attach(self, session: Session) -> None:
        """Prepare for a session that was just opened; what was kept of an older one is void."""
        return

    @abc.abstractmethod
    def sample_session(self, session: Session, now_ns: int, mono_ns: int) -> Sequence[Reading]:
        """The readings of this tick from an open session."""
