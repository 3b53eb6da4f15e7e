"""The threads that feed a GPU run on the CPUs near it."""

from __future__ import annotations

from gapscope_backend.analysis.causes.numa_remote import remote_share
from gapscope_backend.analysis.checklist.check import Check, line, unseen
from gapscope_backend.analysis.checklist.facts import Facts, each_gpu
from gapscope_backend.analysis.checklist.model import FAIL, PASS, WARN, Line
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE
from gapscope_backend.analysis.view import View

ID, TITLE = "numa", Text("Feeding threads near their GPU (NUMA)")
FAR_WARN, FAR_FAIL = 0.1, 0.5
_make = line(ID, TITLE)


def _one(facts: Facts, view: View) -> Line | None:
    far, near = view.mean(remote_share(view)), view.gpu.cpu_affinity
    if far is None:
        return None
    status = FAIL if far >= FAR_FAIL else WARN if far >= FAR_WARN else PASS
    figure = Text(
        "{gpu}: its feeding threads last ran on other CPUs than {near} in {share:.0%} of the time.",
        gpu=facts.name(view),
        near=near or "-",
        share=far,
    )
    advice = Text("Bind the process to the near CPUs: taskset -c {near}, or numactl --cpunodebind.", near=near or "-")
    return _make(status, figure, NONE if status == PASS else advice, far, "ratio")


def _rule(facts: Facts) -> Line:
    figure = Text("All CPUs are near the GPU, or which are near, or where its feeding threads ran, is not known.")
    return each_gpu(facts, _one, unseen(ID, TITLE, figure, Text("Compare nvidia-smi topo -m with taskset -pc PID.")))


CHECK = Check(ID, TITLE, _rule)
