"""Windows with data taken away or blurred, one function each: what a poorer host or a damaged recording would give."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from gapscope_backend.analysis.frames import FrameKind, frame_kind
from gapscope_backend.analysis.window import Frame, Series, Window

Change = Callable[[Window], Window]
Keep = Callable[[str, str], bool]
COARSE = {"host_side", "gpu_side", "transfer"}
SHIFT_NS = 100_000_000


def hashed(text: str) -> str:
    """A name that says nothing."""
    return "n" + hashlib.sha256(text.encode()).hexdigest()[:10]


def rename_application(window: Window) -> Window:
    """Application functions, files, source, threads and commands without their names; libraries keep theirs."""
    stacks = window.stacks
    if stacks is not None:
        stacks = replace(stacks, frames=tuple(_renamed(frame) for frame in stacks.frames), thread_names={})
    processes = tuple(
        replace(p, command=hashed(p.command), threads={tid: _thread(name) for tid, name in p.threads.items()})
        for p in window.processes
    )
    return replace(window, stacks=stacks, processes=processes)


def _thread(name: str) -> str:
    return name if name.startswith("pt_") else hashed(name)


def _renamed(frame: Frame) -> Frame:
    if frame_kind(frame) is not FrameKind.APP:
        return replace(frame, source=None)
    return Frame(hashed(frame.function), hashed(frame.file) + ".py", frame.line, frame.source and hashed(frame.source))


def without(drop: Keep) -> Change:
    """The window without the series for which ``drop(entity, metric)`` holds."""
    return lambda w: replace(w, series={key: s for key, s in w.series.items() if not drop(*key)})


def flags_unknown(window: Window, *names: str) -> Window:
    """Stack samples whose columns ``names`` (``active``, ``owns_gil``) are unknown."""
    if window.stacks is None:
        return window
    unknown = {name: np.full_like(getattr(window.stacks, name), -1) for name in names}
    return replace(window, stacks=replace(window.stacks, **unknown))


def no_processes(window: Window) -> Window:
    """Nothing of any process or thread but the owners' pids and the stacks."""
    bare = without(lambda entity, _: entity.startswith(("process:", "thread:")))(window)
    return replace(bare, processes=())


def thin_stacks(window: Window) -> Window:
    """Every tenth snapshot."""
    stacks = window.stacks
    if stacks is None:
        return window
    keep = np.isin(stacks.times, np.unique(stacks.times)[::10])
    columns = {name: getattr(stacks, name)[keep] for name in ("times", "pids", "tids", "active", "owns_gil", "stack")}
    return replace(window, stacks=replace(stacks, **columns))


def stack_burst(window: Window) -> Window:
    """Stacks of two seconds in the middle only, as one burst takes them."""
    stacks = window.stacks
    if stacks is None:
        return window
    middle = (window.start_ns + window.end_ns) // 2
    keep = np.abs(stacks.times - middle) < 1_000_000_000
    columns = {name: getattr(stacks, name)[keep] for name in ("times", "pids", "tids", "active", "owns_gil", "stack")}
    return replace(window, stacks=replace(stacks, **columns))


def no_sources(window: Window) -> Window:
    """Stacks without the text of their lines."""
    stacks = window.stacks
    if stacks is None:
        return window
    return replace(window, stacks=replace(stacks, frames=tuple(replace(f, source=None) for f in stacks.frames)))


def _second(series: Series) -> Series:
    if series.times.size < 3 or float(np.median(np.diff(series.times))) > 0.9e9:
        return series
    bucket = series.times // 1_000_000_000
    _, first, inverse = np.unique(bucket, return_index=True, return_inverse=True)
    last = np.append(first[1:], series.times.size) - 1
    good = ~np.isnan(series.values)
    count = np.bincount(inverse[good], minlength=first.size)
    total = np.bincount(inverse[good], series.values[good], first.size)
    return Series(series.times[last], np.where(count > 0, total / np.maximum(count, 1), np.nan))


def at_1_hz(window: Window) -> Window:
    """Means over whole seconds."""
    return replace(window, series={key: _second(s) for key, s in window.series.items()})


def with_holes(window: Window) -> Window:
    """30 % of all values missing."""
    random = np.random.default_rng(7)
    series = {k: Series(s.times, np.where(random.random(s.times.size) < 0.3, np.nan, s.values)) for k, s in
              window.series.items()}  # fmt: skip
    return replace(window, series=series)


def dropped_readings(window: Window) -> Window:
    """30 % of all samples gone, with their times."""
    random = np.random.default_rng(11)

    def thinned(series: Series) -> Series:
        keep = random.random(series.times.size) >= 0.3
        return Series(series.times[keep], series.values[keep])

    return replace(window, series={key: thinned(s) for key, s in window.series.items()})


def shifted(ns: int) -> Change:
    """All series, but not the stacks, moved in time."""
    return lambda w: replace(w, series={k: Series(s.times + ns, s.values) for k, s in w.series.items()})


def part(window: Window) -> Window:
    """Six seconds from the middle."""
    return replace(window, start_ns=window.start_ns + 3 * 10**9, end_ns=window.start_ns + 9 * 10**9)


def is_counter(_: str, metric: str) -> bool:
    """Is it one of the hardware counters (GPM)?"""
    return metric.endswith(("_active_ratio", "_occupancy_ratio")) or metric.startswith(("pcie_rx", "pcie_tx", "nvlink"))


def _metric(*prefixes: str) -> Change:
    return without(lambda _, metric: metric.startswith(prefixes))


def _entity(*prefixes: str) -> Change:
    return without(lambda entity, _: entity.startswith(prefixes))


ABLATIONS: Mapping[str, Change] = {
    "as recorded": lambda w: w,
    "names hashed": rename_application,
    "names hashed, no lock owner": lambda w: flags_unknown(rename_application(w), "owns_gil"),
    "no source lines": no_sources,
    "no stacks": lambda w: replace(w, stacks=None),
    "every tenth stack": thin_stacks,
    "one burst of stacks": stack_burst,
    "no lock owner": lambda w: flags_unknown(w, "owns_gil"),
    "no on-CPU flag": lambda w: flags_unknown(w, "active"),
    "neither": lambda w: flags_unknown(w, "active", "owns_gil"),
    "no hardware counters": without(is_counter),
    "neither counters nor stacks": lambda w: replace(without(is_counter)(w), stacks=None),
    "1 Hz": at_1_hz,
    "1 Hz, no counters": lambda w: at_1_hz(without(is_counter)(w)),
    "30 % of values missing": with_holes,
    "30 % of samples dropped": dropped_readings,
    "readings 100 ms later": shifted(SHIFT_NS),
    "readings 100 ms earlier": shifted(-SHIFT_NS),
    "no lag estimate": lambda w: replace(w, gpus=tuple(replace(g, counter_lag_ns=0) for g in w.gpus)),
    "six seconds of it": part,
    "no process data": no_processes,
    "no process tree": lambda w: replace(w, processes=()),
    "no thread data": _entity("thread:"),
    "no host CPU": _entity("host", "core:"),
    "no PCIe counters": _metric("pcie_"),
    "no utilization": _metric("gpu_utilization"),
    "no power, clocks": _metric("gpu_power", "gpu_sm_clock", "gpu_clocks"),
    "no SM counters": _metric("gpu_sm_active", "gpu_sm_occupancy"),
    "no pipe counters": _metric("gpu_tensor", "gpu_fp", "gpu_integer"),
    "no DRAM counter": _metric("gpu_dram"),
}


def verdict_kind(verdict: str, accept: list[str]) -> str:
    """right, coarse, unknown or wrong."""
    if verdict in accept:
        return "right"
    if verdict in COARSE:
        return "coarse"
    return "unknown" if verdict in {"unknown", "not_measured"} else "wrong"
