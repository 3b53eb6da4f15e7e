"""Matrix work runs in FP16, BF16 or TF32 on the tensor cores."""

from __future__ import annotations

from gapscope_backend.analysis.checklist.check import Check, line, unseen
from gapscope_backend.analysis.checklist.facts import Facts, each_gpu, judge
from gapscope_backend.analysis.checklist.model import PASS, WARN, Line
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE
from gapscope_backend.analysis.view import View

ID, TITLE = "precision", Text("FP16, BF16 or TF32 in use")
TENSOR_USED = 0.02
"""Tensor pipes active while the GPU works: FP32 work shows 0, anything on the tensor cores shows more than this."""
FP32_USED = 0.1
ADVICE = Text(
    "Allow TF32 (torch.set_float32_matmul_precision('high')), or use BF16/FP16 (autocast, model.half(), the server's "
    "dtype option)."
)
_make = line(ID, TITLE)


def _one(facts: Facts, view: View) -> Line | None:
    c = view.counters
    tensor = view.mean(c.while_busy(c.tensor), view.busy)
    fp32 = view.mean(c.while_busy(c.fp32), view.busy)
    if tensor is None or fp32 is None or not facts.worked(view):
        return None
    share = facts.share(view, "no_tensor_cores")
    figure = Text(
        "{gpu}, while it works: tensor pipes {tensor:.1%}, FP32 pipe {fp32:.1%}",
        gpu=facts.name(view),
        tensor=tensor,
        fp32=fp32,
    )
    if judge(share) != PASS:
        full = Text("{figure}; {share:.0%} of the time is FP32 on a full chip.", figure=figure, share=share)
        return _make(judge(share), full, ADVICE, share, "ratio")
    if tensor >= TENSOR_USED:
        return _make(PASS, Text("{figure}.", figure=figure), NONE, tensor, "ratio")
    if fp32 >= FP32_USED:
        return _make(
            WARN,
            Text("{figure}: what it computes is FP32, though that is not the limit yet.", figure=figure),
            ADVICE,
            fp32,
        )
    return unseen(ID, TITLE, Text("{figure}: too little arithmetic to tell the precision.", figure=figure))


def _rule(facts: Facts) -> Line:
    return each_gpu(facts, _one, unseen(ID, TITLE, Text("No GPU was under load, or its pipes are not measured here.")))


CHECK = Check(ID, TITLE, _rule)
