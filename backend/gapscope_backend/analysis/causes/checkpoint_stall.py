"""``checkpoint_stall``: the GPU waits while state is saved or logged on the feeding thread."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact, stack_confidence
from gapscope_backend.analysis.counters import held_cells
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

WRITING_BYTES_PER_SECOND = 20e6
"""A process that writes this much while its feeding thread is in code of its own is saving something (seen: at most
1.5 MB/s where nothing is saved, 1 GB/s in a checkpoint). A server's results leave in smaller pieces."""
UNNAMED = (Activity.BLOCKED, Activity.NATIVE, Activity.PYTHON)


def _written(view: View) -> Floats:
    """Bytes per second that the owners write, per cell; 0 where not measured."""
    rates = [held_cells(view.window, f"process:{pid}", "process_write_bytes_per_second") for pid in view.gpu.owners]
    return np.sum(np.nan_to_num(np.array(rates)), axis=0) if rates else np.zeros(view.seconds.size)


def _claim(view: View) -> Claim:
    writing = np.where(_written(view) >= WRITING_BYTES_PER_SECOND, 1.0, 0.0)
    idle: dict[Activity, Floats | float] = {Activity.CHECKPOINT: 1.0, **dict.fromkeys(UNNAMED, writing)}
    return Claim(idle, confidence=stack_confidence(view))


def _findings(view: View) -> Findings:
    rate = view.mean(_written(view))
    return Findings(
        fact("stacks", Text("idle time in frames that save or log"), view.mean_activity(Activity.CHECKPOINT), 0.1)
        + fact(
            "process_write_bytes_per_second", Text("written by the owner"), rate, WRITING_BYTES_PER_SECOND, "bytes/s"
        )
    )


CAUSE = Cause(
    id="checkpoint_stall",
    title=Text("Waits while state is saved or logged"),
    row_class=FAULT,
    advice=Text(
        "Save asynchronously (torch.distributed.checkpoint.async_save, or a copy to pinned memory that a thread "
        "writes), less often, or to faster storage."
    ),
    priority="P1",
    would_change=Text("No save on the feeding thread's stack in the gaps."),
    claim=_claim,
    findings=_findings,
    activities=(Activity.CHECKPOINT, *UNNAMED),
    source=Text("PyTorch distributed checkpoint notes; write rates from recordings"),
)
