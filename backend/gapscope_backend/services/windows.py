"""A Window from the store: every series of a host over a span, its facts and its stacks, for the analysis."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import aclosing
from dataclasses import dataclass, field

import numpy as np

from gapscope_agent.wire import DecodedGroup
from gapscope_agent.wire import Entity as WireEntity
from gapscope_backend.analysis.window import (
    ASSUMED_LAG_NS,
    LAG_METRIC,
    Gpu,
    Process,
    Series,
    StackSamples,
    Window,
    estimated_lag_ns,
)
from gapscope_backend.services.buckets import Floats, Ints, join_pieces
from gapscope_backend.services.hosts import gpu_order, number_label, owner_pids, whole_label
from gapscope_backend.services.stacks import load_stacks
from gapscope_backend.store.database import Database
from gapscope_backend.store.hosts import list_entities, read_latest
from gapscope_backend.store.models import Entity, Host
from gapscope_backend.store.reader import Selection, read_series

EVERYTHING = Selection()
KINDS = ("host", "gpu", "core", "process", "thread")
GPU_KINDS = ("host", "gpu")
"""For what looks at GPUs alone: the threads and cores of a host are hundreds of rows."""


@dataclass
class _Gathered:
    pieces: dict[tuple[str, str], list[tuple[Ints, Floats]]] = field(default_factory=lambda: defaultdict(list))
    owners: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    def add(self, groups: list[DecodedGroup], entities: list[WireEntity], start_ns: int, end_ns: int) -> None:
        for entity in entities:
            if entity.kind == "gpu" and "owners" in entity.labels:
                self.owners[entity.key] |= owner_pids(entity.labels)
        for group in groups:
            inside = slice(*np.searchsorted(group.times, (start_ns, end_ns)))
            for metric, values in group.values.items():
                self.pieces[group.entity, metric].append((group.times[inside], values[inside]))

    def series(self) -> dict[tuple[str, str], Series]:
        joined = {key: Series(*join_pieces(pieces)) for key, pieces in self.pieces.items()}
        return {key: series for key, series in joined.items() if series.times.size}


async def load_window(
    database: Database,
    host: Host,
    start_ns: int,
    end_ns: int,
    selection: Selection = EVERYTHING,
    *,
    with_stacks: bool = True,
    only_with_gpu: bool = False,
    kinds: tuple[str, ...] = KINDS,
) -> Window:
    """The window of a host; with ``selection`` only those series, without ``with_stacks`` no stacks.

    ``kinds`` are those of the entities whose facts are needed. With ``only_with_gpu`` a host without a GPU in the span
    gives its facts alone.
    """
    entities = await list_entities(database, host.id, start_ns, end_ns, kinds)
    if only_with_gpu and not any(entity.kind == "gpu" for entity in entities):
        cpus = logical_cpus(host, entities)
        return Window(host.name, start_ns, end_ns, cpus, (), (), {}, measured=bool(entities))
    gathered = await _gather(database, host.id, start_ns, end_ns, selection)
    series = await asyncio.to_thread(gathered.series)
    stacks = await load_stacks(database, host.id, start_ns, end_ns) if with_stacks and host.has_stacks else None
    known_lags = {} if any(metric == LAG_METRIC for _, metric in series) else await _latest_lags(database, host.id)
    return Window(
        host=host.name,
        start_ns=start_ns,
        end_ns=end_ns,
        logical_cpus=logical_cpus(host, entities),
        gpus=tuple(_gpus(entities, gathered.owners, series, known_lags)),
        processes=tuple(_processes(entities, stacks)),
        series=series,
        stacks=stacks,
        measured=bool(series or stacks),
    )


async def _gather(database: Database, host_id: int, start_ns: int, end_ns: int, selection: Selection) -> _Gathered:
    gathered = _Gathered()
    pages = read_series(database, host_id, start_ns, end_ns, selection)
    async with aclosing(pages):
        async for page in pages:
            await asyncio.to_thread(gathered.add, page.groups, page.entities, start_ns, end_ns)
    return gathered


def logical_cpus(host: Host, entities: list[Entity]) -> int:
    """Logical CPUs as the host told, else as many as it has core series."""
    for labels in (*(entity.labels for entity in entities if entity.kind == "host"), host.labels):
        told = whole_label(labels, "logical_cpus")
        if told:
            return told
    return sum(entity.kind == "core" for entity in entities)


async def _latest_lags(database: Database, host_id: int) -> dict[str, int]:
    """The newest lag of each GPU, for spans shorter than the lag's own period."""
    _, latest = await read_latest(database, host_id, {LAG_METRIC})
    lags = {key: points[LAG_METRIC][1] for key, points in latest.items() if LAG_METRIC in points}
    return {key: round(lag * 1e9) for key, lag in lags.items() if lag is not None}


def _gpus(
    entities: list[Entity],
    owners: dict[str, set[int]],
    series: dict[tuple[str, str], Series],
    known_lags: dict[str, int],
) -> list[Gpu]:
    found = sorted((entity for entity in entities if entity.kind == "gpu"), key=gpu_order)
    estimates = {entity.key: estimated_lag_ns(series.get((entity.key, LAG_METRIC))) for entity in found}
    lags = {key: known_lags.get(key) if lag is None else lag for key, lag in estimates.items()}
    return [
        Gpu(
            key=entity.key,
            index=position if (told := whole_label(entity.labels, "index")) is None else told,
            name=entity.labels.get("name", "GPU"),
            owners=tuple(sorted(owners.get(entity.key, owner_pids(entity.labels)))),
            power_limit_watts=number_label(entity.labels, "power_limit_watts"),
            max_sm_clock_hertz=number_label(entity.labels, "max_sm_clock_hertz"),
            pcie_generation=whole_label(entity.labels, "pcie_max_generation"),
            pcie_width=whole_label(entity.labels, "pcie_max_width"),
            counter_lag_ns=ASSUMED_LAG_NS if (lag := lags[entity.key]) is None else lag,
            lag_estimated=lag is not None,
            memory_total_bytes=whole_label(entity.labels, "memory_total_bytes"),
            cpu_affinity=entity.labels.get("cpu_affinity"),
        )
        for position, entity in enumerate(found)
    ]


def _processes(entities: list[Entity], stacks: StackSamples | None) -> list[Process]:
    threads: dict[int, dict[int, str]] = defaultdict(dict)
    for entity in entities:
        if entity.kind == "thread":
            pid, _, tid = entity.key.removeprefix("thread:").partition("/")
            if pid.isdecimal() and tid.isdecimal():
                threads[int(pid)][int(tid)] = entity.labels.get("name", "")
    for (stack_pid, stack_tid), name in (stacks.thread_names if stacks else {}).items():
        threads[stack_pid].setdefault(stack_tid, name)
    return [
        Process(
            pid=int(pid_text),
            parent_pid=whole_label(entity.labels, "parent_pid") or 0,
            command=entity.labels.get("command", ""),
            threads=threads.get(int(pid_text), {}),
        )
        for entity in entities
        if entity.kind == "process" and (pid_text := entity.key.removeprefix("process:")).isdecimal()
    ]
