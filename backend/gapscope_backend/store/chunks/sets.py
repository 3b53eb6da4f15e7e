"""Which chunk a series lives in, and the set of metrics that a chunk names by number."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from gapscope_agent.catalog import BY_NAME

CORES, PROCESSES, HOST = "cores", "processes", "host"
_GROUPS = {"core": CORES, "process": PROCESSES, "thread": PROCESSES}


def group_of(entity: str) -> str:
    """The group whose chunk it is in: each GPU, all cores, processes with their threads, or the host for the rest."""
    kind = entity.partition(":")[0]
    return entity if kind == "gpu" else _GROUPS.get(kind, HOST)


@dataclass(frozen=True)
class MetricSet:
    """Metrics in a fixed order with the quantum that their integers count in. The id follows from them."""

    id: int
    names: tuple[str, ...]
    quanta: tuple[float, ...]

    @cached_property
    def is_current(self) -> bool:
        """Whether the catalogue has all of them, with these quanta."""
        pairs = zip(self.names, self.quanta, strict=True)
        return all(name in BY_NAME and BY_NAME[name].quantum == quantum for name, quantum in pairs)


def metric_set(metrics: Iterable[str]) -> MetricSet:
    """The set of these metrics, with today's quanta."""
    names = tuple(sorted(set(metrics)))
    quanta = tuple(BY_NAME[name].quantum for name in names)
    return MetricSet(_identity(names, quanta), names, quanta)


def _identity(names: Sequence[str], quanta: Sequence[float]) -> int:
    text = "\n".join(f"{name} {quantum!r}" for name, quantum in zip(names, quanta, strict=True))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
