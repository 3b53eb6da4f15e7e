"""``cpu_oversubscribed``: the feeding thread is ready to run but has no core."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact
from gapscope_backend.analysis.causes.cpu_quota import THROTTLED_RATIO, throttled
from gapscope_backend.analysis.counters import held_cells
from gapscope_backend.analysis.feeders import feeding_threads
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

FULL_HOST_SHARE = 0.9
"""Cores busy, of all. Without measured run delay a thread that is ready and gets no CPU is believed only where the
host is this full: on a host with free cores something else held it."""
DELAY_SHARE = 0.2
"""Part of its ready time that a thread spends waiting for a core; on a host with free cores it is below 0.02."""
READY = (
    *(Activity.LAUNCH, Activity.NATIVE, Activity.PYTHON, Activity.CPU_WORK, Activity.LOADER_WORK, Activity.COPY),
    *(Activity.SYNC, Activity.ALLOCATOR, Activity.CHECKPOINT, Activity.IMPORT),
)


def _delay_of_thread(view: View, pid: int, tid: int) -> Floats:
    """Share of ready time without a core. Measured run delay where there is one: it needs no full host, since a CPU
    set or a container may leave the thread only some of the cores. Else ready by its stacks but without CPU time."""
    entity = f"thread:{pid}/{tid}"
    delay = held_cells(view.window, entity, "thread_run_delay_ratio")
    cores = held_cells(view.window, entity, "thread_cpu_cores")
    if not np.isnan(delay).all():
        return np.divide(delay, delay + cores, out=np.zeros_like(delay), where=(delay + cores) > 0)
    samples = view.host.samples
    if samples is None:
        return np.zeros(view.seconds.size)
    mine = view.host.feeders & (samples.pids == pid) & (samples.tids == tid)
    ready = float((samples.active[mine] == 1).mean())
    full = view.cpu.host >= FULL_HOST_SHARE * view.window.logical_cpus
    return np.where(full, np.clip(1.0 - cores / ready, 0.0, 1.0), 0.0) if ready > 0 else np.zeros(view.seconds.size)


def delay_share(view: View) -> Floats:
    """Largest share over the feeding threads, per cell; 0 where it is small."""
    rows = [_delay_of_thread(view, pid, tid) for pid, tid in feeding_threads(view.host.samples, view.host.feeders)]
    worst = np.nanmax(np.nan_to_num(np.array(rows)), axis=0) if rows else np.zeros(view.seconds.size)
    held = np.nan_to_num(throttled(view)) >= THROTTLED_RATIO  # a thread held by a quota counts as ready, too
    return np.where((worst >= DELAY_SHARE) & ~held, worst, 0.0)


def _claim(view: View) -> Claim:
    share = delay_share(view)
    return Claim(dict.fromkeys(READY, share), confidence=0.8)


def _findings(view: View) -> Findings:
    cores = float(view.window.logical_cpus)
    return Findings(
        fact(
            "cpu_busy_cores",
            Text("cores busy on the host, of {cores:.0f}", cores=cores),
            view.mean(view.cpu.host),
            FULL_HOST_SHARE * cores,
            "cores",
        )
        + fact(
            "thread_run_delay_ratio",
            Text("of its ready time the feeding thread waits for a core"),
            view.mean(delay_share(view)),
            DELAY_SHARE,
        )
    )


CAUSE = Cause(
    id="cpu_oversubscribed",
    title=Text("Waits because the CPU is full"),
    row_class=FAULT,
    advice=Text(
        "Start fewer threads and workers than cores (OMP_NUM_THREADS, num_workers, intra-op threads), or move "
        "other work off this host."
    ),
    priority="P0",
    would_change=Text("Free cores, or a feeding thread that gets its CPU time."),
    claim=_claim,
    findings=_findings,
    activities=READY,
    source=Text("kernel schedstat run delay"),
)
