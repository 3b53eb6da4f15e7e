"""What a kind of rule is: settings, and a pure function from a look at a host to what it finds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gapscope_backend.alerts.look import GpuFacts, HostFacts, Look
from gapscope_backend.alerts.states import Track, Truth
from gapscope_backend.analysis.causes import BY_ID
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE

SECOND_NS = 1_000_000_000
DROPS, LEDGERS, VALUES, EVENTS, CONTACT = "drops", "ledgers", "values", "events", "contact"
CLASSES = ("fault", "limit", "unused", "missing", "good")
FAULTS = ("fault", "unknown")
"""What pages people where a rule does not say: faults, and time that nothing explains."""


@dataclass(frozen=True)
class Finding:
    """What one look says of one subject (a GPU's key, a job, or empty: the host).

    ``facet`` tells conditions of one subject apart. [start, end) is the time to look at. ``alone``: a condition that
    is over already and stands by itself, with ``held_ns`` from ``since_ns`` on.
    """

    subject: str
    at_ns: int
    truth: Truth
    sentence: Text = NONE
    value: float | None = None
    threshold: float | None = None
    since_ns: int | None = None
    held_ns: int | None = None
    clear_ns: int | None = None
    end_ns: int | None = None
    cause: str = ""
    incident: str = ""
    facet: str = ""
    job: str = ""
    in_order: bool = True
    alone: bool = False


Key = tuple[str, str]
"""Subject and facet."""


@dataclass(frozen=True)
class Question:
    """What ``find`` is asked: a look, the settings, what is remembered of subjects, and a place for notes.

    ``takes`` says whether the rule's scope takes a GPU or a job.
    """

    look: Look
    settings: Any
    tracked: Mapping[Key, Track]
    notes: dict[str, Any]
    takes: Callable[[GpuFacts | None, str], bool]

    def gpus(self) -> list[GpuFacts]:
        """The GPUs of the host that the scope takes, by key."""
        return [gpu for _, gpu in sorted(self.look.host.gpus.items()) if self.takes(gpu, "")]


@dataclass(frozen=True)
class Kind:
    """One kind. ``needs`` is the part of a look that it reads; ``unit`` that of its value.

    ``gap_seconds`` is the longest time between two looks that still follow one another, ``covers_seconds`` how much
    time one look speaks for. ``metrics`` are the series of GPUs that it reads.
    """

    name: str
    about: str
    settings: type[Any]
    needs: str
    unit: str
    find: Callable[[Question], Iterable[Finding]]
    gap_seconds: float = 30.0
    covers_seconds: float = 5.0
    metrics: frozenset[str] = frozenset()


def takes_cause(wanted: Collection[str], cause: str, row_class: str = "") -> bool:
    """Whether a list of causes and classes names a cause. ``unknown`` is a cause of the class ``missing``."""
    known = BY_ID.get(cause)
    return cause in wanted or (row_class or (known.row_class if known else "")) in wanted


def title_of(cause: str) -> Text:
    """How people call a cause."""
    return BY_ID[cause].title if cause in BY_ID else NONE


def gpu_name(host: HostFacts, key: str) -> Text:
    """How people call a GPU: its index on its host."""
    gpu = host.gpus.get(key)
    if gpu is None or gpu.index is None:
        return Text("{name}", name=key.removeprefix("gpu:"))
    return Text("GPU {index}", index=gpu.index)


def said(truth: Truth, make: Callable[[], Text]) -> Text:
    """The sentence of a condition that holds; of one that does not nobody needs one, and putting it together costs."""
    return make() if truth is Truth.HOLDS else NONE


def truth_of(value: float, threshold: float, clear: float) -> Truth:
    """A value that is bad from ``threshold`` up, and good below ``clear``."""
    if value >= threshold:
        return Truth.HOLDS
    return Truth.BETWEEN if value >= clear else Truth.CLEARS
