"""Do stacks fall into the phases that they belong to? A program alternates CPU work and GPU work, a second each.

With a GPU the judge is the recording itself: the lag-corrected cells of the graphics engine, without those next to a
change. Without one the program's own log of its phases stands in.
"""

from __future__ import annotations

import bisect
import json
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from gapscope_agent.reading import Stacks
from gapscope_agent.recording.read import open_recording
from gapscope_agent.recording.write import record
from gapscope_agent.stacks.messages import Sampled
from gapscope_agent.stacks.sampler import PySpySampler
from gapscope_agent.stacks.settings import StackSettings
from gapscope_backend.analysis.window import CELL_NS
from gapscope_backend.cli.windows import window_of_recording
from tests.gpu.stack_watched import Watched, watched

PHASE_OF = {"work_on_cpu": "cpu", "wait_for_device": "gpu"}
BOUNDARY_NS = 150_000_000
BUSY_RATIO = 0.5
Seen = list[tuple[int, str]]


def _phase(functions: list[str]) -> str | None:
    return next((PHASE_OF[name] for name in functions if name in PHASE_OF), None)


def _snapshots(folder: Path, pid: int) -> Seen:
    found = []
    for reading in open_recording(folder).readings():
        if isinstance(reading, Stacks) and reading.pid == pid:
            main = next((thread for thread in reading.threads if thread.tid == pid), None)
            phase = _phase([frame.function for frame in main.frames]) if main is not None else None
            if phase is not None:
                found.append((reading.t, phase))
    return found


def _trace(target: Watched, seconds: float, into: Seen) -> None:
    sampler, left = PySpySampler(), seconds
    while left >= 1:
        answer = sampler.trace(target.pid, StackSettings().rate_hertz, min(10.0, left))
        left -= 10.0
        for moment in answer.moments if isinstance(answer, Sampled) else ():
            main = next((thread for thread in moment.threads if thread.tid == target.pid), None)
            phase = _phase([frame.function for frame in main.frames]) if main is not None else None
            if phase is not None:
                into.append((moment.t, phase))


def _by_cells(folder: Path, seen: Seen) -> Counter[tuple[str, bool]]:
    """Samples by phase, and whether their cell agrees; cells beside a change are left out."""
    window = window_of_recording(folder)
    active = max(
        (window.gpu_cells(gpu, "gpu_graphics_active_ratio") for gpu in window.gpus),
        key=lambda cells: float(np.nansum(cells)),
    )
    counts: Counter[tuple[str, bool]] = Counter()
    for t, phase in seen:
        cell = (t - window.start_ns) // CELL_NS
        around = active[cell - 1 : cell + 2] if cell >= 1 else active[:0]
        if around.size == 3 and not np.isnan(around).any() and len(set((around >= BUSY_RATIO).tolist())) == 1:
            counts[phase, bool(active[cell] >= BUSY_RATIO) == (phase == "gpu")] += 1
    return counts


def _by_log(log: Path, seen: Seen) -> Counter[tuple[str, bool]]:
    phases = [json.loads(line) for line in log.read_text().splitlines()]
    begins = [phase["begin_ns"] for phase in phases]
    counts: Counter[tuple[str, bool]] = Counter()
    for t, phase in seen:
        at = bisect.bisect_right(begins, t) - 1
        if at >= 0 and begins[at] + BOUNDARY_NS <= t < phases[at]["end_ns"] - BOUNDARY_NS:
            counts[phase, phases[at]["phase"] == phase] += 1
    return counts


def alignment(seconds: float) -> dict[str, Any]:
    """Share of the samples of each phase that fall into its cells, for snapshots and for traces."""
    result: dict[str, Any] = {}
    with watched("alternate") as target, tempfile.TemporaryDirectory() as scratch:
        traced: Seen = []
        beside = threading.Thread(target=_trace, args=(target, seconds, traced))
        beside.start()
        folder = Path(scratch) / "recording"
        record(folder, seconds + 1, stacks=StackSettings(), stacks_of=[target.pid])
        beside.join()
        result["judged_by"] = "gpu cells" if target.cuda else "the program's log"
        for name, seen in (("snapshots", _snapshots(folder, target.pid)), ("trace", traced)):
            counts = _by_cells(folder, seen) if target.cuda else _by_log(target.log, seen)
            for phase in PHASE_OF.values():
                right, wrong = counts[phase, True], counts[phase, False]
                share = right / (right + wrong) if right + wrong else None
                result[f"{name} {phase}"] = {"samples": right + wrong, "in_phase_ratio": share}
    return result
