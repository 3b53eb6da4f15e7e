"""Hosts that do as a test tells them, and a diagnosis that knows the cause because the test told it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gapscope_agent.wire import Batch, Entity
from gapscope_backend.analysis.causes import BY_ID
from gapscope_backend.analysis.counters import read_counters
from gapscope_backend.analysis.diagnose import choose, merge_ledgers
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE, Evidence, GpuVerdict, LedgerRow, Span, Verdict
from gapscope_backend.analysis.window import Gpu, Window
from tests.backend.batches import NOW, SECOND, TICK, BatchMaker, group

START = NOW - 7200 * SECOND


@dataclass
class Story:
    """``cause`` takes all idle time of all GPUs. ``seen`` are the spans that were diagnosed."""

    cause: str = "cpu_preprocess"
    seen: list[Span] = field(default_factory=list)

    def __call__(self, window: Window) -> Verdict:
        self.seen.append(Span(window.start_ns, window.end_ns))
        gpus = tuple(self._gpu(window, gpu) for gpu in window.gpus)
        ledger = merge_ledgers(gpus, len(gpus) * window.seconds)
        lost = sum(row.gpu_seconds for row in ledger if row.row_class == "fault")
        span = (window.start_ns, window.end_ns)
        return Verdict(window.host, *span, len(gpus), choose(ledger), NONE, NONE, 0.9, lost, ledger, gpus)

    def _gpu(self, window: Window, gpu: Gpu) -> GpuVerdict:
        active = read_counters(window, gpu).graphics
        busy = float(np.nansum(active)) / 10
        rows = [self._row("healthy", busy, window), self._row(self.cause, window.seconds - busy, window)]
        return GpuVerdict(gpu.key, gpu.index, gpu.name, choose(rows), tuple(rows), (), 0, 0.0, (), 0.0)

    def _row(self, cause: str, seconds: float, window: Window) -> LedgerRow:
        known, span = BY_ID[cause], Span(window.start_ns, window.end_ns)
        evidence = (Evidence("gpu_graphics_active_ratio", Text("idle"), spans=(span,)),)
        return LedgerRow(cause, known.title, known.row_class, seconds, seconds / window.seconds, 0.8, evidence)


def gpu_key(index: int) -> str:
    return f"gpu:GPU-{index}"


def batches(*parts: tuple[float, float], host: str = "node-1", seconds: int = 5, gpus: int = 1) -> list[Batch]:
    """Batches of a host from START on whose GPUs are active at these ratios for these seconds each."""
    maker = BatchMaker(host=host, run_id=f"run-{host}")
    active = np.concatenate([np.full(round(length * 10), ratio) for length, ratio in parts])
    entities = [
        Entity(gpu_key(index), "gpu", {"index": str(index), "name": "NVIDIA H200", "owners": "100"})
        for index in range(gpus)
    ]
    made = []
    for first in range(0, active.size, seconds * 10):
        # A sample read at t tells of the 100 ms before t: the counters do not lag.
        piece = active[first : first + seconds * 10]
        begins = START + (first + 1) * TICK
        groups = [
            group(entity.key, begins, TICK, gpu_graphics_active_ratio=piece, gpu_processes_count=np.ones(piece.size))
            for entity in entities
        ]
        groups += [group(entity.key, begins, SECOND, gpu_counter_lag_seconds=np.zeros(1)) for entity in entities]
        made.append(maker.make(START + first * TICK, begins + piece.size * TICK, groups, entities=entities))
    return made


def at(time_ns: int) -> float:
    """Seconds since START."""
    return (time_ns - START) / SECOND
