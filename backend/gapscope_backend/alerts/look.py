"""What is known of a host at a moment, as the rules see it: one type for live, late and past data alike.

A part that is None was not looked at, or tells nothing new; rules that need it then say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

Point = tuple[int, float | None]


class LedgerShare(msgspec.Struct, frozen=True):
    """A row of a ledger without its evidence."""

    cause: str
    row_class: str
    gpu_seconds: float
    share: float
    confidence: float = 0.0
    busy_gpu_seconds: float = 0.0


class GpuLedger(msgspec.Struct, frozen=True):
    """The ledger of a GPU."""

    gpu: str
    index: int
    ledger: list[LedgerShare]


class JobLedger(msgspec.Struct, frozen=True):
    """The ledger of a job; ``job`` names its topmost process."""

    job: str
    command: str
    gpus: list[str]
    ledger: list[LedgerShare]


class Ledgers(msgspec.Struct, frozen=True):
    """The ledgers of a host over [start, end): what a stored verdict holds beside its evidence."""

    start_ns: int
    end_ns: int
    gpus: list[GpuLedger]
    jobs: list[JobLedger] = []

    @property
    def seconds(self) -> float:
        """Length of the span."""
        return (self.end_ns - self.start_ns) / 1e9


_LEDGERS = msgspec.json.Decoder(Ledgers)


def read_ledgers(verdict: bytes) -> Ledgers | None:
    """The ledgers of a stored verdict, or of a stored minute; None where it is of another form."""
    try:
        return _LEDGERS.decode(verdict)
    except msgspec.DecodeError:
        return None


def slim_ledgers(verdict: bytes) -> bytes:
    """A stored verdict without its evidence, as a minute is kept; empty where it is of another form."""
    ledgers = read_ledgers(verdict)
    return b"" if ledgers is None else msgspec.json.encode(ledgers)


@dataclass(frozen=True)
class GpuFacts:
    """A GPU as its host told of it; None where it did not."""

    key: str
    index: int | None = None
    name: str = ""
    memory_total_bytes: float | None = None
    pcie_generation: float | None = None
    pcie_width: float | None = None


@dataclass(frozen=True)
class HostFacts:
    """A host; ``recorded`` for one whose data is played from a recording, ``retired`` for one long gone."""

    id: int
    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    recorded: bool = False
    retired: bool = False
    first_data_ns: int = 0
    gpus: Mapping[str, GpuFacts] = field(default_factory=dict)


@dataclass(frozen=True)
class DropLook:
    """A drop of a GPU as the detector tells of it: how far it reached, and for how much measured time.

    ``cause`` and ``incident`` are empty where nothing was found that explains it.
    """

    gpu: str
    start_ns: int
    end_ns: int
    held_ns: int
    ongoing: bool
    active_ratio: float
    threshold_ratio: float
    cause: str = ""
    row_class: str = ""
    incident: str = ""


@dataclass(frozen=True)
class DropsLook:
    """The detectors of a host at ``at_ns``: the newest drop of each GPU that is in one, and those that are over.

    ``measured`` names the GPUs that have data.
    """

    at_ns: int
    current: Mapping[str, DropLook]
    over: Sequence[DropLook] = ()
    measured: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ValuesLook:
    """The newest value of each series of a host's GPUs at ``at_ns``."""

    at_ns: int
    points: Mapping[str, Mapping[str, Point]]

    def value(self, entity: str, metric: str, oldest_ns: int = 0) -> float | None:
        """The value of a series, None where it is missing or older than ``oldest_ns``."""
        at_ns, value = self.points.get(entity, {}).get(metric, (0, None))
        return value if at_ns >= oldest_ns else None


@dataclass(frozen=True)
class EventLook:
    """Something that a host told of."""

    t_ns: int
    kind: str
    text: str
    entity: str


@dataclass(frozen=True)
class Look:
    """All of it. ``silent_seconds``: for how long the host has sent nothing, by a clock that is never set."""

    host: HostFacts
    drops: DropsLook | None = None
    ledgers: Ledgers | None = None
    values: ValuesLook | None = None
    events: Sequence[EventLook] | None = None
    last_seen_ns: int = 0
    silent_seconds: float | None = None
