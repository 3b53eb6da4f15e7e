"""``io_wait``: the feeding thread, or the loader's workers, wait for storage or network."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact, stack_confidence
from gapscope_backend.analysis.causes.dataloader_starved import IDLE_WORKER_CORES
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

READING_BYTES_PER_SECOND = 10e6
"""A blocked thread whose process reads this much is waiting for what it reads; configuration and logs are far less."""


def _claim(view: View) -> Claim:
    reading = np.where(view.cpu.read_bytes >= READING_BYTES_PER_SECOND, 1.0, 0.0)
    workers_idle = np.where(view.cpu.children < IDLE_WORKER_CORES, 1.0, 0.0)
    idle: dict[Activity, Floats | float] = {
        Activity.IO_WAIT: 1.0,
        Activity.LOADER_WAIT: workers_idle,
        Activity.BLOCKED: reading,
    }
    return Claim(idle, confidence=stack_confidence(view))


def _findings(view: View) -> Findings:
    return Findings(
        fact(
            "stacks",
            "idle time in which the feeding thread waits for a file or socket that it reads",
            view.mean_activity(Activity.IO_WAIT),
            0.3,
        )
        + fact("process_cpu_cores", "CPU of the owner", view.mean(view.cpu.owners), 0.5, "cores")
        + fact("cpu_iowait_cores", "cores idle while a task waits for a disk", view.mean(view.cpu.iowait), 0.5, "cores")
    )


CAUSE = Cause(
    id="io_wait",
    title="Waits for storage or network",
    row_class=FAULT,
    advice="Read ahead in other threads or processes, keep data nearer (local NVMe, memory), and read larger pieces.",
    priority="P1",
    would_change="A feeding thread that computes, or waits for another thread, while the GPU idles.",
    claim=_claim,
    findings=_findings,
    activities=(Activity.IO_WAIT, Activity.LOADER_WAIT, Activity.BLOCKED),
)
