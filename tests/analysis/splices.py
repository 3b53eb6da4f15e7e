"""Recordings put together: one after another on one GPU, beside each other on two, or mixed within each 100 ms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gapscope_backend.analysis.window import CELL_NS, Gpu, Process, Series, StackSamples, Window

PID_STEP = 1_000_000
COLUMNS = ("times", "pids", "tids", "active", "owns_gil", "stack")


def _entity(key: str, step: int, gpu: str | None) -> str:
    kind, _, name = key.partition(":")
    if kind == "process":
        return f"process:{int(name) + step}"
    if kind == "thread":
        pid, _, tid = name.partition("/")
        return f"thread:{int(pid) + step}/{int(tid) + step}"
    return gpu if kind == "gpu" and gpu else key


def moved(window: Window, *, by_ns: int = 0, pid_step: int = 0, gpu: str | None = None) -> Window:
    """The window at another time, with other pids and its (only) GPU under another key."""
    series = {
        (_entity(e, pid_step, gpu), metric): Series(s.times + by_ns, s.values)
        for (e, metric), s in window.series.items()
    }
    processes = tuple(
        Process(p.pid + pid_step, p.parent_pid + pid_step if p.parent_pid > 1 else p.parent_pid, p.command,
                {tid + pid_step: name for tid, name in p.threads.items()})
        for p in window.processes
    )  # fmt: skip
    gpus = tuple(replace(g, key=gpu or g.key, owners=tuple(p + pid_step for p in g.owners)) for g in window.gpus)
    stacks = window.stacks
    if stacks is not None:
        names = {(p + pid_step, t + pid_step): name for (p, t), name in stacks.thread_names.items()}
        stacks = replace(stacks, times=stacks.times + by_ns, pids=stacks.pids + pid_step, tids=stacks.tids + pid_step,
                         thread_names=names)  # fmt: skip
    return replace(window, start_ns=window.start_ns + by_ns, end_ns=window.end_ns + by_ns, gpus=gpus,
                   processes=processes, series=series, stacks=stacks)  # fmt: skip


def cut(window: Window, start_ns: int, end_ns: int) -> Window:
    """The part of a window, with the samples of that part alone."""
    series = {}
    for (entity, metric), s in window.series.items():
        lag = window.gpus[0].counter_lag_ns if entity.startswith("gpu:") else 0
        keep = (s.times - lag > start_ns) & (s.times - lag <= end_ns)
        series[entity, metric] = Series(s.times[keep], s.values[keep])
    stacks = window.stacks
    if stacks is not None:
        keep = (stacks.times >= start_ns) & (stacks.times < end_ns)
        stacks = replace(stacks, **{name: getattr(stacks, name)[keep] for name in COLUMNS})
    return replace(window, start_ns=start_ns, end_ns=end_ns, series=series, stacks=stacks)


def _joined_stacks(parts: Sequence[StackSamples | None]) -> StackSamples | None:
    known = [part for part in parts if part is not None]
    if not known:
        return None
    stacks: list[tuple[int, ...]] = []
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    frames = 0
    for part in known:
        for name in COLUMNS:
            column = getattr(part, name)
            columns[name].append(column + len(stacks) if name == "stack" else column)
        stacks += [tuple(i + frames for i in stack) for stack in part.stacks]
        frames += len(part.frames)
    joined = {name: np.concatenate(values) for name, values in columns.items()}
    order = np.argsort(joined["times"], kind="stable")
    return StackSamples(
        **{name: column[order] for name, column in joined.items()},
        stacks=tuple(stacks),
        frames=tuple(frame for part in known for frame in part.frames),
        thread_names={key: name for part in known for key, name in part.thread_names.items()},
    )


def _joined_series(parts: Sequence[Window]) -> dict[tuple[str, str], Series]:
    keys = dict.fromkeys(key for part in parts for key in part.series)
    series = {}
    for key in keys:
        found = [part.series[key] for part in parts if key in part.series]
        times, values = np.concatenate([s.times for s in found]), np.concatenate([s.values for s in found])
        order = np.argsort(times, kind="stable")
        series[key] = Series(times[order], values[order])
    return series


def after_each_other(first: Window, second: Window, seconds: float) -> Window:
    """``seconds`` of each on one GPU, the second right after the first, by other processes."""
    span = int(seconds * 1e9) // CELL_NS * CELL_NS
    key = first.gpus[0].key
    one = cut(first, first.start_ns, first.start_ns + span)
    two = cut(second, second.start_ns, second.start_ns + span)
    two = moved(two, by_ns=one.end_ns - two.start_ns, pid_step=PID_STEP, gpu=key)
    gpu: Gpu = replace(one.gpus[0], owners=one.gpus[0].owners + two.gpus[0].owners)
    return replace(
        one, end_ns=two.end_ns, gpus=(gpu,), processes=one.processes + two.processes,
        series=_joined_series((one, two)), stacks=_joined_stacks((one.stacks, two.stacks)),
    )  # fmt: skip


def beside_each_other(first: Window, second: Window, seconds: float) -> Window:
    """``seconds`` of each at the same time on two GPUs, by processes that have nothing in common."""
    span = int(seconds * 1e9) // CELL_NS * CELL_NS
    one = moved(cut(first, first.start_ns, first.start_ns + span), gpu="gpu:first")
    two = cut(second, second.start_ns, second.start_ns + span)
    two = moved(two, by_ns=one.start_ns - two.start_ns, pid_step=PID_STEP, gpu="gpu:second")
    series = _joined_series((one, replace(two, series={k: s for k, s in two.series.items() if ":" in k[0]})))
    return replace(
        one, gpus=(replace(one.gpus[0], index=0), replace(two.gpus[0], index=1)),
        processes=one.processes + two.processes, series=series,
        stacks=_joined_stacks((one.stacks, two.stacks)),
    )  # fmt: skip


def diluted(window: Window, healthy: Window, share: float) -> Window:
    """``share`` of each 100 ms as recorded, the rest of it as the healthy one, in one process."""
    key, other = window.gpus[0].key, healthy.gpus[0].key
    series = dict(window.series)
    for (entity, metric), s in window.series.items():
        good = healthy.series.get((other, metric))
        if entity != key or good is None or metric == "gpu_counter_lag_seconds":
            continue
        series[entity, metric] = Series(s.times, share * s.values + (1 - share) * float(np.nanmean(good.values)))
    return replace(window, series=series, stacks=_diluted_stacks(window, healthy, share))


def _diluted_stacks(window: Window, healthy: Window, share: float) -> StackSamples | None:
    """A snapshot in so many is of the feeding thread in the healthy program's most frequent stack."""
    stacks, good = window.stacks, healthy.stacks
    if stacks is None or good is None:
        return stacks
    commonest = int(np.bincount(good.stack[good.pids == healthy.gpus[0].owners[0]]).argmax())
    added = tuple(good.frames[i] for i in good.stacks[commonest])
    numbers = tuple(range(len(stacks.frames), len(stacks.frames) + len(added)))
    random = np.random.default_rng(3)
    times = np.unique(stacks.times)
    instead = np.isin(stacks.times, times[random.random(times.size) >= share])
    instead &= np.isin(stacks.pids, window.gpus[0].owners) & (stacks.tids == stacks.pids)
    return replace(
        stacks, frames=stacks.frames + added, stacks=(*stacks.stacks, numbers),
        stack=np.where(instead, len(stacks.stacks), stacks.stack),
        active=np.where(instead, np.int8(1), stacks.active), owns_gil=np.where(instead, np.int8(0), stacks.owns_gil),
    )  # fmt: skip
