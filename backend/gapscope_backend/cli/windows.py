"""A Window from a recording, through the same derivation that a live agent's readings take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from gapscope_agent.derive import Derived, DerivedGroup, Deriver
from gapscope_agent.errors import RecordingError
from gapscope_agent.reading import Origin, Reading, Stacks
from gapscope_agent.recording.read import Recording, open_recording
from gapscope_backend.analysis.window import (
    ASSUMED_LAG_NS,
    LAG_METRIC,
    Frame,
    Gpu,
    Ints,
    Process,
    Series,
    StackSamples,
    Window,
    estimated_lag_ns,
)

BEFORE_NS = 10_000_000_000
"""Readings this far before the span are derived too: rates need one before, slow sources come every few seconds."""
AFTER_NS = 2_000_000_000
"""And this far after: buffers and lagging counters describe time before they are read."""
_FLAG = {None: -1, False: 0, True: 1}


def window_of_recording(path: str | Path, start_ns: int | None = None, end_ns: int | None = None) -> Window:
    """The recording in folder ``path``, or its part from ``start_ns`` to ``end_ns`` (ns since the epoch).

    Raises ``RecordingError`` with file and line where the recording is not readable.
    """
    recording = open_recording(path)
    start = recording.origin.start_ns if start_ns is None else start_ns
    derived, last = _derive(recording, start, end_ns)
    end = end_ns if end_ns is not None else recording.origin.end_ns or last
    if end <= start:
        raise RecordingError(Path(path), "the span that was asked for holds no time", "Choose --from before --to")
    return _window(recording.origin, derived, start, end)


def window_of_readings(origin: Origin, readings: Iterable[Reading], start_ns: int, end_ns: int) -> Window:
    """The readings of a live host between two times; readings of a second or two before them make the first rates."""
    deriver = Deriver(origin)
    for reading in sorted(readings, key=lambda reading: reading.t):
        deriver.feed(reading)
    return _window(origin, deriver.drain(), start_ns, end_ns)


def _derive(recording: Recording, start_ns: int, end_ns: int | None) -> tuple[Derived, int]:
    """Everything derived from the readings around the span, and the time of the last of them."""
    deriver = Deriver(recording.origin)
    last = start_ns
    for reading in recording.readings():
        if end_ns is not None and reading.t > end_ns + AFTER_NS:
            break
        if reading.t >= start_ns - BEFORE_NS:
            deriver.feed(reading)
            last = max(last, reading.t)
    return deriver.drain(), last


def _window(origin: Origin, derived: Derived, start_ns: int, end_ns: int) -> Window:
    labels = {entity.key: entity.labels for entity in derived.entities}
    series = _series(derived.groups)
    return Window(
        host=origin.host.name,
        start_ns=start_ns,
        end_ns=end_ns,
        logical_cpus=origin.host.logical_cpus,
        gpus=_gpus(origin, labels, series),
        processes=_processes(labels),
        series=series,
        stacks=stack_samples(snapshot for snapshot in derived.stacks if start_ns <= snapshot.t < end_ns),
        measured=any(_touches(one, start_ns, end_ns) for one in series.values()),
    )


def _touches(series: Series, start_ns: int, end_ns: int) -> bool:
    first, last = np.searchsorted(series.times, (start_ns, end_ns + AFTER_NS))
    return bool(first < last)


def _series(groups: Iterable[DerivedGroup]) -> dict[tuple[str, str], Series]:
    times: dict[tuple[str, str], list[Ints]] = defaultdict(list)
    values = defaultdict(list)
    for group in groups:
        for metric, column in group.values.items():
            times[group.entity, metric].append(group.times)
            values[group.entity, metric].append(column)
    joined = {key: (np.concatenate(times[key]), np.concatenate(values[key])) for key in times}
    series = {}
    for key, (at, column) in joined.items():
        order = np.argsort(at, kind="stable")
        series[key] = Series(at[order], column[order])
    return series


def _gpus(
    origin: Origin, labels: Mapping[str, Mapping[str, str]], series: Mapping[tuple[str, str], Series]
) -> tuple[Gpu, ...]:
    lags = {facts.key: estimated_lag_ns(series.get((facts.key, LAG_METRIC))) for facts in origin.gpus}
    return tuple(
        Gpu(
            key=facts.key,
            index=facts.index,
            name=facts.name,
            owners=_pids(labels.get(facts.key, {}).get("owners", "")),
            power_limit_watts=None if facts.power_limit_milliwatts is None else facts.power_limit_milliwatts / 1e3,
            max_sm_clock_hertz=None if facts.max_sm_clock_mhz is None else facts.max_sm_clock_mhz * 1e6,
            pcie_generation=facts.pcie.max_generation if facts.pcie else None,
            pcie_width=facts.pcie.max_width if facts.pcie else None,
            counter_lag_ns=ASSUMED_LAG_NS if (lag := lags[facts.key]) is None else lag,
            lag_estimated=lag is not None,
            memory_total_bytes=facts.memory_total_bytes,
            cpu_affinity=facts.cpu_affinity,
        )
        for facts in origin.gpus
    )


def _pids(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(pid) for pid in text.split(",") if pid.strip().isdecimal()))


def _processes(labels: Mapping[str, Mapping[str, str]]) -> tuple[Process, ...]:
    threads: dict[int, dict[int, str]] = defaultdict(dict)
    for key, facts in labels.items():
        pid, _, tid = key.removeprefix("thread:").partition("/")
        if key.startswith("thread:") and pid.isdecimal() and tid.isdecimal():
            threads[int(pid)][int(tid)] = facts.get("name", "")
    found = [(int(key.removeprefix("process:")), facts) for key, facts in labels.items() if key.startswith("process:")]
    return tuple(
        Process(pid, int(facts.get("parent_pid", "0")), facts.get("command", ""), threads.get(pid, {}))
        for pid, facts in sorted(found, key=lambda item: item[0])
    )


def stack_samples(snapshots: Iterable[Stacks]) -> StackSamples | None:
    """Snapshots in columns; None where there are none."""
    frames: dict[Frame, int] = {}
    stacks: dict[tuple[int, ...], int] = {}
    names: dict[tuple[int, int], str] = {}
    rows: list[tuple[int, ...]] = []
    for snapshot in snapshots:
        for thread in snapshot.threads:
            known = [Frame(f.function, f.file, f.line, f.source) for f in thread.frames]
            stack = tuple(frames.setdefault(frame, len(frames)) for frame in known)
            flags = _FLAG[thread.active], _FLAG[thread.owns_gil]
            rows.append((snapshot.t, snapshot.pid, thread.tid, *flags, stacks.setdefault(stack, len(stacks))))
            if thread.name:
                names[snapshot.pid, thread.tid] = thread.name
    if not rows:
        return None
    table = np.array(rows, dtype=np.int64)
    table = table[np.argsort(table[:, 0], kind="stable")]
    return StackSamples(
        times=table[:, 0],
        pids=table[:, 1],
        tids=table[:, 2],
        active=table[:, 3].astype(np.int8),
        owns_gil=table[:, 4].astype(np.int8),
        stack=table[:, 5],
        stacks=tuple(stacks),
        frames=tuple(frames),
        thread_names=names,
    )
