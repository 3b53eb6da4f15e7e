"""The newest minute of each host as a window, without decoding what was decoded ten seconds ago.

A window is kept in the pieces in which it was read; each time only the time since the last piece is read, and pieces
that lie before the window go. Data that comes late makes a host's pieces worthless: ``forget`` drops them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gapscope_backend.analysis.window import (
    LAG_METRIC,
    Frame,
    Gpu,
    Process,
    Series,
    StackSamples,
    Window,
    estimated_lag_ns,
)
from gapscope_backend.services.windows import load_window
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Host

MAX_HOSTS = 24
"""A minute of a host with 500 series at 10 Hz takes about 5 MB."""
UNSETTLED_NS = 2_000_000_000
"""The next batch may still tell of this much time before it: the driver's buffers are read once a second."""


class Recent:
    """Windows that end now, for the hosts asked for most recently."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pieces: OrderedDict[int, list[Window]] = OrderedDict()

    async def window(self, host: Host, start_ns: int, end_ns: int) -> Window:
        """The window of a host; calls for one host are made one after another, with times that go on."""
        kept = [piece for piece in self._pieces.pop(host.id, []) if piece.end_ns > start_ns]
        if kept and not kept[0].start_ns <= start_ns < kept[-1].end_ns <= end_ns:
            kept = []
        read_from_ns = kept[-1].end_ns if kept else start_ns
        settled_ns = max(read_from_ns, end_ns - UNSETTLED_NS)
        if read_from_ns < settled_ns:
            kept.append(await load_window(self._database, host, read_from_ns, settled_ns))
        self._pieces[host.id] = kept
        newest = [await load_window(self._database, host, settled_ns, end_ns)] if settled_ns < end_ns else []
        while len(self._pieces) > MAX_HOSTS:
            self._pieces.popitem(last=False)
        return await asyncio.to_thread(join_windows, [*kept, *newest], start_ns, end_ns)

    def forget(self, host_id: int) -> None:
        """Read a host's next window anew."""
        self._pieces.pop(host_id, None)


def join_windows(pieces: Sequence[Window], start_ns: int, end_ns: int) -> Window:
    """Pieces of one host that follow one another as the window [start, end); facts are as last told."""
    series = _series(pieces, start_ns)
    processes: dict[int, Process] = {}
    for piece in pieces:
        for process in piece.processes:
            threads = {**processes[process.pid].threads, **process.threads} if process.pid in processes else None
            processes[process.pid] = process if threads is None else replace(process, threads=threads)
    return replace(
        pieces[-1],
        start_ns=start_ns,
        end_ns=end_ns,
        gpus=_gpus(pieces, series),
        processes=tuple(processes.values()),
        series=series,
        stacks=_stacks([piece.stacks for piece in pieces if piece.stacks is not None], start_ns),
        measured=any(piece.measured for piece in pieces),
    )


def _series(pieces: Sequence[Window], start_ns: int) -> dict[tuple[str, str], Series]:
    parts: dict[tuple[str, str], list[Series]] = defaultdict(list)
    for piece in pieces:
        for key, series in piece.series.items():
            parts[key].append(series)
    joined = {}
    for key, told in parts.items():
        times = np.concatenate([part.times for part in told])
        first = int(np.searchsorted(times, start_ns))
        if first < times.size:
            joined[key] = Series(times[first:], np.concatenate([part.values for part in told])[first:])
    return joined


def _gpus(pieces: Sequence[Window], series: dict[tuple[str, str], Series]) -> tuple[Gpu, ...]:
    newest = {gpu.key: gpu for piece in pieces for gpu in piece.gpus}
    owners: dict[str, set[int]] = defaultdict(set)
    for piece in pieces:
        for gpu in piece.gpus:
            owners[gpu.key].update(gpu.owners)
    return tuple(
        _with_lag(replace(gpu, owners=tuple(sorted(owners[key]))), estimated_lag_ns(series.get((key, LAG_METRIC))))
        for key, gpu in newest.items()
    )


def _with_lag(gpu: Gpu, lag_ns: int | None) -> Gpu:
    return gpu if lag_ns is None else replace(gpu, counter_lag_ns=lag_ns, lag_estimated=True)


def _stacks(parts: Sequence[StackSamples], start_ns: int) -> StackSamples | None:
    """Samples of all parts with frames and stacks in one numbering."""
    frames: dict[Frame, int] = {}
    stacks: dict[tuple[int, ...], int] = {}
    numbers = []
    for part in parts:
        own = [frames.setdefault(frame, len(frames)) for frame in part.frames]
        here = [stacks.setdefault(tuple(own[at] for at in stack), len(stacks)) for stack in part.stacks]
        numbers.append(np.array(here, dtype=np.int64)[part.stack])
    times = np.concatenate([part.times for part in parts]) if parts else np.empty(0, dtype=np.int64)
    kept = slice(int(np.searchsorted(times, start_ns)), None)
    if not times[kept].size:
        return None
    return StackSamples(
        times=times[kept],
        pids=np.concatenate([part.pids for part in parts])[kept],
        tids=np.concatenate([part.tids for part in parts])[kept],
        active=np.concatenate([part.active for part in parts])[kept],
        owns_gil=np.concatenate([part.owns_gil for part in parts])[kept],
        stack=np.concatenate(numbers)[kept],
        stacks=tuple(stacks),
        frames=tuple(frames),
        thread_names={key: name for part in parts for key, name in part.thread_names.items()},
    )
