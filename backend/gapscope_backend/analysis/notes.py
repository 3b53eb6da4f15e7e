"""Notes: what the reader must know about the data behind a verdict."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import CELL_NS, Window

SLOW_PERIOD_NS = 3 * CELL_NS
FEW_SAMPLES = 20
COARSE = Text(
    "no hardware counters; the time level is the driver's utilization, which counts copies as work and "
    "hides gaps under 200 ms, and how well the GPU worked cannot be told."
)


def read_notes(window: Window, views: tuple[View, ...]) -> tuple[Text, ...]:
    """Sentences about missing or coarse data, one kind each, GPUs named where there are several.

    None where nothing was measured at all: the verdict's own sentence says so.
    """
    if not window.measured:
        return ()
    if not views:
        return (Text("This host has no GPU in this window."),)
    notes: list[Text] = []
    for view in views:
        texts = _notes_of(view)
        index = view.gpu.index
        notes += texts if len(views) == 1 else [Text("GPU {index}: {text}", index=index, text=text) for text in texts]
    return tuple(notes)


def _notes_of(view: View) -> list[Text]:
    notes = []
    if not view.known.any():
        return [Text("nothing was measured.")]
    if not view.counters.exact:
        notes.append(COARSE)
    series = view.window.series.get((view.gpu.key, view.counters.source))
    if series is not None and series.times.size > 2 and float(np.median(np.diff(series.times))) > SLOW_PERIOD_NS:
        notes.append(Text("the data is slower than 100 ms; gaps shorter than its period are averaged away."))
    if not view.gpu.owners:
        notes.append(Text("no process was seen that holds this GPU."))
    elif view.host.sample_count == 0:
        notes.append(Text("no Python stacks of the threads that feed it; causes on the host's side stay coarse."))
    elif view.host.sample_count < FEW_SAMPLES:
        few = Text(
            "only {count} stack samples; shares of causes on the host's side are rough.", count=view.host.sample_count
        )
        notes.append(few)
    return notes
