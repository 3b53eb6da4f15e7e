"""``io_wait``: the feeding thread, or the loader's workers, wait for storage or network."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact, stack_confidence
from gapscope_backend.analysis.causes.dataloader_starved import IDLE_WORKER_CORES
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

READING_BYTES_PER_SECOND = 10e6
"""A blocked thread whose process reads this much is waiting for what it reads; configuration and logs are far less."""


def reading_workers(view: View) -> float:
    """Of the samples in which other processes load or read, the share that waits for a file or socket."""
    samples = view.host.samples
    if samples is None:
        return 0.0
    activity = samples.activity[np.isin(samples.pids, view.cpu.child_pids)]
    waits = int((activity == Activity.IO_WAIT).sum())
    works = int((activity == Activity.LOADER_WORK).sum())
    return waits / (waits + works) if waits else 0.0


def _claim(view: View) -> Claim:
    reading = np.where(view.cpu.read_bytes >= READING_BYTES_PER_SECOND, 1.0, 0.0)
    workers_idle = np.where(view.cpu.children < IDLE_WORKER_CORES, 1.0, reading_workers(view))
    idle: dict[Activity, Floats | float] = {
        Activity.IO_WAIT: 1.0,
        Activity.PRODUCER_READS: 1.0,
        Activity.LOADER_WAIT: workers_idle,
        Activity.BLOCKED: reading,
    }
    return Claim(idle, confidence=stack_confidence(view))


def _findings(view: View) -> Findings:
    return Findings(
        fact(
            "stacks",
            Text("idle time in which the feeding thread waits for a file or socket that it reads"),
            view.mean_activity(Activity.IO_WAIT),
            0.3,
        )
        + fact(
            "stacks",
            Text("idle time in which it waits for another thread that reads"),
            view.mean_activity(Activity.PRODUCER_READS) or None,
            0.3,
        )
        + fact("stacks", Text("of their work, time in which workers wait for data"), reading_workers(view) or None, 0.5)
        + fact("process_cpu_cores", Text("CPU of the owner"), view.mean(view.cpu.owners), 0.5, "cores")
        + fact(
            "cpu_iowait_cores",
            Text("cores idle while a task waits for a disk"),
            view.mean(view.cpu.iowait),
            0.5,
            "cores",
        )
    )


CAUSE = Cause(
    id="io_wait",
    title=Text("Waits for storage or network"),
    row_class=FAULT,
    advice=Text(
        "Read ahead in other threads or processes, keep data nearer (local NVMe, memory), and read larger pieces."
    ),
    priority="P1",
    would_change=Text("A feeding thread that computes, or waits for another thread, while the GPU idles."),
    claim=_claim,
    findings=_findings,
    activities=(Activity.IO_WAIT, Activity.PRODUCER_READS, Activity.LOADER_WAIT, Activity.BLOCKED),
    source=Text("proc io counters; recordings"),
)
