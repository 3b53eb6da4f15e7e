"""CPU: no quota in the way, and cores for everybody who is ready to run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gapscope_backend.analysis.checklist.check import Check, line, unseen
from gapscope_backend.analysis.checklist.facts import Facts, judge, worst
from gapscope_backend.analysis.checklist.model import FAIL, PASS, WARN, Line
from gapscope_backend.analysis.counters import held_cells
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE

ID, TITLE = "cpu", Text("CPU quota and cores sufficient")
FULL_HOST = 0.9
QUOTA = Text("Raise the container's CPU limit (resources.limits.cpu), or leave it out and keep the request.")
CORES = Text(
    "Start fewer threads and workers than cores (OMP_NUM_THREADS, num_workers), or move other work off this host."
)
_make = line(ID, TITLE)


def _means(facts: Facts, metric: str) -> Iterator[tuple[str, float]]:
    for entity, name in facts.window.series:
        cells = held_cells(facts.window, entity, metric) if name == metric else None
        if cells is not None and not np.isnan(cells).all():
            yield entity, float(np.nanmean(cells))


def _quota(facts: Facts) -> Iterator[Line]:
    for group, share in _means(facts, "cgroup_cpu_throttled_ratio"):
        figure = Text(
            "{group} was throttled by its CPU quota {share:.0%} of the time.",
            group=group.removeprefix("cgroup:"),
            share=share,
        )
        status = judge(share)
        yield _make(status, figure, NONE if status == PASS else QUOTA, share, "ratio")


def _delays(facts: Facts) -> Iterator[Line]:
    holders = {pid for gpu in facts.window.gpus for pid in gpu.owners}
    for thread, share in _means(facts, "thread_run_delay_ratio"):
        pid = thread.removeprefix("thread:").partition("/")[0]
        if pid.isdecimal() and int(pid) in holders and judge(share) != PASS:
            figure = Text(
                "A thread of pid {pid}, which holds a GPU, was ready but without a core {share:.0%} of the time.",
                pid=pid,
                share=share,
            )
            yield _make(judge(share), figure, CORES, share, "ratio")


def _host(facts: Facts) -> Iterator[Line]:
    for _, busy in _means(facts, "cpu_busy_cores"):
        cores = facts.window.logical_cpus
        full = busy / cores if cores else 0.0
        starved = max((facts.share(view, "cpu_oversubscribed", "cpu_quota") for view in facts.views), default=0.0)
        figure = Text("{busy:.1f} of {cores} cores busy on the host.", busy=busy, cores=cores)
        if judge(starved) != PASS:
            waits = Text("{figure} A GPU waits {share:.0%} of the time for a core.", figure=figure, share=starved)
            yield _make(judge(starved), waits, CORES, starved)
        else:
            status = WARN if full >= FULL_HOST else PASS
            yield _make(status, figure, NONE if status == PASS else CORES, full, "ratio")


def _rule(facts: Facts) -> Line:
    lines = [*_host(facts), *_quota(facts), *_delays(facts)]
    bad = [one for one in lines if one.status in (FAIL, WARN)]
    return worst(bad, lines[0] if lines else unseen(ID, TITLE, Text("CPU figures of the host were not read.")))


CHECK = Check(ID, TITLE, _rule)
