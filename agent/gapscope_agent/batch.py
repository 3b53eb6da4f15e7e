"""What one drain of the deriver gave, closed into batches: numbered, within every limit of the wire.

As a rule one drain is one batch. After a long stall or a clock that was set, it is cut by time so that no batch spans
more than ``SLICE_NS``; the slices are numbered in order.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterable, Iterator

import numpy as np

from gapscope_agent.accounting import Ledger
from gapscope_agent.derive import Derived, DerivedGroup
from gapscope_agent.reading import Stacks
from gapscope_agent.version import __version__
from gapscope_agent.wire import (
    MAX_POINTS_PER_GROUP,
    MAX_STACK_SAMPLES,
    MAX_VALUES_PER_BATCH,
    WIRE_VERSION,
    Batch,
    Entity,
    Event,
    StackSample,
    WireFrame,
    count_values,
    encode_groups,
)

SLICE_NS = 60_000_000_000
MAX_VALUES = MAX_VALUES_PER_BATCH // 5
"""Well below the wire's limit: such a batch also stays below its limit in bytes."""
MAX_DEPTH = 200
MAX_NAME, MAX_SOURCE = 512, 300


class BatchBuilder:
    """Closes batches of one run; a run is one start of the agent, with a random id that no other run has."""

    def __init__(self, host: str, labels: dict[str, str], ledger: Ledger, recorded: bool = False) -> None:
        self.run_id = secrets.token_hex(16)
        self._host = host
        self._labels = labels
        self._ledger = ledger
        self._recorded = recorded
        self._sequence = 0

    def close(self, derived: Derived, now_ns: int) -> list[Batch]:
        """The batches of one drain, counted as sampled; an empty drain gives none."""
        return [self._close(part, now_ns) for part in _parts(derived)]

    def _close(self, derived: Derived, now_ns: int) -> Batch:
        start, end = _span(derived)
        stacks = StackTable()
        batch = Batch(
            version=WIRE_VERSION,
            host=self._host,
            run_id=self.run_id,
            sequence=self._sequence,
            start_ns=start,
            end_ns=end,
            agent_version=__version__,
            sent_ns=now_ns,
            recorded=self._recorded,
            labels=self._labels,
            entities=derived.entities,
            groups=encode_groups(derived.groups),
            samples=stacks.samples(derived.stacks)[:MAX_STACK_SAMPLES],
            frames=stacks.frames,
            stacks=stacks.stacks,
            events=[_cut_event(event) for event in derived.events],
        )
        self._sequence += 1
        self._ledger.sample(count_values(batch))
        batch.accounting = self._ledger.snapshot()
        return batch


class StackTable:
    """Frames and stacks of a batch, each kept once."""

    def __init__(self) -> None:
        self.frames: list[WireFrame] = []
        self.stacks: list[list[int]] = []
        self._frame_index: dict[tuple[str, str, int, str | None], int] = {}
        self._stack_index: dict[tuple[int, ...], int] = {}

    def samples(self, snapshots: Iterable[Stacks]) -> list[StackSample]:
        """One sample for each thread of each snapshot; a stack deeper than ``MAX_DEPTH`` loses its outermost part."""
        return [
            StackSample(
                t=snapshot.t,
                pid=snapshot.pid,
                tid=thread.tid,
                thread=thread.name[:MAX_NAME] if thread.name else None,
                active=thread.active,
                owns_gil=thread.owns_gil,
                stack=self._stack(
                    tuple(self._frame(f.function, f.file, f.line, f.source) for f in thread.frames[:MAX_DEPTH])
                ),
            )
            for snapshot in snapshots
            for thread in snapshot.threads
        ]

    def _frame(self, function: str, file: str, line: int, source: str | None) -> int:
        key = (function[:MAX_NAME], file[-MAX_NAME:], line, source[:MAX_SOURCE] if source else None)
        index = self._frame_index.get(key)
        if index is None:
            index = self._frame_index[key] = len(self.frames)
            self.frames.append(WireFrame(*key))
        return index

    def _stack(self, frames: tuple[int, ...]) -> int:
        index = self._stack_index.get(frames)
        if index is None:
            index = self._stack_index[frames] = len(self.stacks)
            self.stacks.append(list(frames))
        return index


def _times(derived: Derived) -> list[int]:
    """First and last times of everything inside; empty when there is nothing."""
    ends = [int(t) for group in derived.groups for t in (group.times[0], group.times[-1])]
    return ends + [snapshot.t for snapshot in derived.stacks] + [event.t for event in derived.events]


def _span(derived: Derived) -> tuple[int, int]:
    times = _times(derived)
    return min(times), max(times) + 1


def _parts(derived: Derived) -> Iterator[Derived]:
    """Cut by time where the drain spans too much, and by count where it holds too many values."""
    if not _times(derived):
        return
    start, end = _span(derived)
    if end - start <= SLICE_NS:
        yield from _by_count(derived)
        return
    slices: dict[int, Derived] = {}

    def part(t: int) -> Derived:
        return slices.setdefault(t // SLICE_NS, Derived([], [], [], []))

    for group in derived.groups:
        for piece in _cut(group):
            part(int(piece.times[0])).groups.append(piece)
    for snapshot in derived.stacks:
        part(snapshot.t).stacks.append(snapshot)
    for event in derived.events:
        part(event.t).events.append(event)
    for number in sorted(slices):
        entities = _entities_of(slices[number].groups, derived.entities)
        yield from _by_count(Derived(slices[number].groups, entities, slices[number].stacks, slices[number].events))


def _cut(group: DerivedGroup) -> Iterator[DerivedGroup]:
    """The group in pieces that lie in one slice each."""
    numbers = group.times // SLICE_NS
    edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), group.times.size]
    for low, high in itertools.pairwise(edges):
        yield _slice(group, low, high)


def _slice(group: DerivedGroup, low: int, high: int) -> DerivedGroup:
    return DerivedGroup(
        group.entity,
        group.times[low:high],
        {metric: values[low:high] for metric, values in group.values.items()},
        {
            metric: {position - low: reason for position, reason in reasons.items() if low <= position < high}
            for metric, reasons in group.reasons.items()
        },
    )


def _by_count(derived: Derived) -> Iterator[Derived]:
    """Parts of at most ``MAX_VALUES`` values; stacks and events go with the first."""
    groups: list[DerivedGroup] = []
    stacks, events = derived.stacks, derived.events
    values = 0
    for group in derived.groups:
        for low in range(0, group.times.size, MAX_POINTS_PER_GROUP):
            piece = _slice(group, low, low + MAX_POINTS_PER_GROUP)
            size = piece.times.size * len(piece.values)
            if groups and values + size > MAX_VALUES:
                yield Derived(groups, _entities_of(groups, derived.entities), stacks, events)
                groups, stacks, events, values = [], [], [], 0
            groups.append(piece)
            values += size
    yield Derived(groups, _entities_of(groups, derived.entities), stacks, events)


def _entities_of(groups: list[DerivedGroup], entities: list[Entity]) -> list[Entity]:
    keys = {group.entity for group in groups}
    return [entity for entity in entities if entity.key in keys]


def _cut_event(event: Event) -> Event:
    return Event(t=event.t, kind=event.kind, text=event.text[:1000], entity=event.entity)
