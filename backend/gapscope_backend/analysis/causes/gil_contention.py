"""``gil_contention``: the feeding thread could go on, but another Python thread owns the interpreter lock."""

from __future__ import annotations

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact, stack_confidence
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View


def _claim(view: View) -> Claim:
    return Claim({Activity.GIL_WAIT: 1.0}, confidence=stack_confidence(view))


def _findings(view: View) -> Findings:
    return Findings(
        fact(
            "stacks",
            Text("idle time in which the feeding thread is off the CPU while another thread owns the lock"),
            view.mean_activity(Activity.GIL_WAIT),
            0.3,
        )
        + fact(
            "process_cpu_cores",
            Text("CPU of the owner: about one core, as the lock allows"),
            view.mean(view.cpu.owners),
            1.5,
            "cores",
        )
    )


CAUSE = Cause(
    id="gil_contention",
    title=Text("Waits for Python's interpreter lock"),
    row_class=FAULT,
    advice=Text(
        "Move the Python work out of this process (multiprocessing, a separate service), or into code that lets "
        "go of the lock; or use free-threaded Python."
    ),
    priority="P0",
    would_change=Text("A feeding thread that is on the CPU or owns the lock while the GPU idles."),
    claim=_claim,
    findings=_findings,
    activities=(Activity.GIL_WAIT,),
    looks_at_others=True,
    source=Text("sys.getswitchinterval (5 ms); recordings"),
)
