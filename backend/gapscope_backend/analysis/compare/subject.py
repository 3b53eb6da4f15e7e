"""Subject: what is kept of one window for a comparison, small enough to hold several at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gapscope_backend.analysis.counters import held_cells
from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.levels import read_levels
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.view import View, read_views
from gapscope_backend.analysis.window import Floats, Window

Figure = tuple[str, str, Text, str]
"""Level, metric name, label and unit."""


@dataclass(frozen=True)
class Subject:
    """``figures`` in their order, ``functions`` as (function, file) to samples of feeding threads."""

    label: str
    verdict: Verdict
    figures: Mapping[Figure, float | None]
    functions: Mapping[tuple[str, str], int]
    sample_count: int


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _cell_mean(cells: Floats) -> float | None:
    return None if np.isnan(cells).all() else float(np.nanmean(cells))


def _sum_of_processes(window: Window, pids: set[int]) -> float | None:
    means = [_cell_mean(held_cells(window, f"process:{pid}", "process_cpu_cores")) for pid in sorted(pids)]
    known = [mean for mean in means if mean is not None]
    return sum(known) if known else None


def _levels(views: tuple[View, ...]) -> dict[Figure, float | None]:
    """The three levels. The time level has one row whatever it was measured by, so that sides compare."""
    found: dict[Figure, list[float | None]] = {}
    for view in views:
        for place, level in enumerate(read_levels(view)):
            exact = place > 0 or view.counters.exact
            label = level.label if exact else Text("graphics active")
            name = level.name if exact else "gpu_graphics_active_ratio"
            found.setdefault((level.level, name, label, level.unit), []).append(level.value if exact else None)
    return {figure: _mean(values) for figure, values in found.items()}


def _others(window: Window, views: tuple[View, ...]) -> dict[Figure, float | None]:
    def over_gpus(name: str) -> float | None:
        return _mean([view.mean(getattr(view.counters, name)) for view in views])

    holders = {pid for gpu in window.gpus for pid in gpu.owners}
    rest = {process.pid for process in window.processes} - holders
    return {
        ("power", "gpu_power_watts", Text("power a GPU"), "watts"): over_gpus("power"),
        ("power", "gpu_sm_clock_hertz", Text("SM clock"), "hertz"): over_gpus("clock"),
        ("power", "gpu_memory_used_bytes", Text("device memory in use"), "bytes"): over_gpus("memory"),
        ("pcie", "pcie_rx_bytes_per_second", Text("host to device"), "bytes/s"): over_gpus("rx"),
        ("pcie", "pcie_tx_bytes_per_second", Text("device to host"), "bytes/s"): over_gpus("tx"),
        ("cpu", "cpu_busy_cores", Text("host"), "cores"): _cell_mean(held_cells(window, "host", "cpu_busy_cores")),
        ("cpu", "cpu_iowait_cores", Text("host, waiting for disks"), "cores"): _cell_mean(
            held_cells(window, "host", "cpu_iowait_cores")
        ),
        ("cpu", "process_cpu_cores", Text("processes on the GPUs"), "cores"): _sum_of_processes(window, holders),
        ("cpu", "process_cpu_cores", Text("processes around them"), "cores"): _sum_of_processes(window, rest),
    }


def _functions(views: tuple[View, ...]) -> Counter[tuple[str, str]]:
    """Innermost functions of the threads that feed any GPU."""
    counted: Counter[tuple[str, str]] = Counter()
    sampled = [(view.host.samples, view.host.feeders) for view in views if view.host.samples is not None]
    if not sampled:
        return counted
    source = sampled[0][0].source
    rows = np.unique(np.concatenate([samples.rows[feeders] for samples, feeders in sampled]))
    stacks, counts = np.unique(source.stack[rows], return_counts=True)
    for stack, count in zip(stacks.tolist(), counts.tolist(), strict=True):
        frames = source.stacks[stack]
        if frames:
            frame = source.frames[frames[0]]
            counted[frame.function, frame.file] += count
    return counted


def read_subject(label: str, window: Window, verdict: Verdict | None = None) -> Subject:
    """What a comparison needs of ``window``; ``verdict`` where it is known already."""
    views = read_views(window)
    functions = _functions(views)
    return Subject(
        label=label,
        verdict=verdict or diagnose(window),
        figures={**_levels(views), **_others(window, views)},
        functions=dict(functions),
        sample_count=sum(functions.values()),
    )
