"""The threads that feed a GPU run on the CPUs near it."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.checklist.check import Check, line, unseen
from gapscope_backend.analysis.checklist.facts import Facts, each_gpu
from gapscope_backend.analysis.checklist.model import FAIL, PASS, WARN, Line
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

ID, TITLE = "numa", "Feeding threads near their GPU (NUMA)"
FAR_WARN, FAR_FAIL = 0.1, 0.5
_make = line(ID, TITLE)


def parse_cpu_list(text: str) -> frozenset[int]:
    """CPUs of a list as the kernel writes it (``0-15,32-47``); empty where it cannot be read."""
    cpus: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            return frozenset()
        cpus.update(range(int(first), int(last if dash else first) + 1))
    return frozenset(cpus)


def _feeding_threads(view: View) -> list[tuple[int, int]]:
    """Threads by their stacks; the owners' main threads where there are no stacks."""
    host = view.host
    if host.samples is None:
        return [(pid, pid) for pid in view.gpu.owners]
    pids, tids = host.samples.pids[host.feeders], host.samples.tids[host.feeders]
    return sorted({(int(pid), int(tid)) for pid, tid in zip(pids, tids, strict=True)})


def _last_cpus(view: View) -> Floats:
    found = []
    for pid, tid in _feeding_threads(view):
        series = view.window.series.get((f"thread:{pid}/{tid}", "thread_last_cpu_index"))
        if series is not None:
            found.append(series.values[~np.isnan(series.values)])
    return np.concatenate(found) if found else np.zeros(0)


def _one(facts: Facts, view: View) -> Line | None:
    near = parse_cpu_list(view.gpu.cpu_affinity or "")
    cpus = _last_cpus(view)
    if not near or not cpus.size:
        return None
    far = float(np.mean([int(cpu) not in near for cpu in cpus]))
    status = FAIL if far >= FAR_FAIL else WARN if far >= FAR_WARN else PASS
    figure = (
        f"{facts.name(view)}: its feeding threads ran on other CPUs than {view.gpu.cpu_affinity} {far:.0%} of the time."
    )
    advice = f"Bind the process to the near CPUs: taskset -c {view.gpu.cpu_affinity}, or numactl --cpunodebind."
    return _make(status, figure, "" if status == PASS else advice, far, "ratio")


def _rule(facts: Facts) -> Line:
    figure = "Which CPUs are near the GPU, or where its feeding threads ran, is not known."
    return each_gpu(facts, _one, unseen(ID, TITLE, figure, "Compare nvidia-smi topo -m with taskset -pc PID."))


CHECK = Check(ID, TITLE, _rule)
