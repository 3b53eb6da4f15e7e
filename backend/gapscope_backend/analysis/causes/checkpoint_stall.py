"""``checkpoint_stall``: the GPU waits while state is saved or logged on the feeding thread."""

from __future__ import annotations

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact, stack_confidence
from gapscope_backend.analysis.counters import held_cells
from gapscope_backend.analysis.view import View


def _claim(view: View) -> Claim:
    return Claim({Activity.CHECKPOINT: 1.0}, confidence=stack_confidence(view))


def _findings(view: View) -> Findings:
    writes = [held_cells(view.window, f"process:{pid}", "process_write_bytes_per_second") for pid in view.gpu.owners]
    rate = max((value for value in (view.mean(cells) for cells in writes) if value is not None), default=None)
    return Findings(
        fact("stacks", "idle time in frames that save or log", view.mean_activity(Activity.CHECKPOINT), 0.1)
        + fact("process_write_bytes_per_second", "written by the owner", rate, None, "bytes/s")
    )


CAUSE = Cause(
    id="checkpoint_stall",
    title="Waits while state is saved or logged",
    row_class=FAULT,
    advice="Save asynchronously (torch.distributed.checkpoint.async_save, or a copy to pinned memory that a thread "
    "writes), less often, or to faster storage.",
    priority="P1",
    would_change="No save on the feeding thread's stack in the gaps.",
    claim=_claim,
    findings=_findings,
    activities=(Activity.CHECKPOINT,),
)
