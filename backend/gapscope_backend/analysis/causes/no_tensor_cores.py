"""``no_tensor_cores``: matrix work runs in FP32 on the ordinary pipes."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View

FP32_BOUND = 0.2
"""FP32 pipe active over graphics active. FP32 multiplications cost at least eight times their TF32 counterparts, so a
fifth of the pipe's peak on a filled chip is most of the kernels' time (seen: 0.76 in FP32 matrix products, 0.29 in FP32
training of a convolution network; 0.15 and less at small batches; 0.02 where tensor cores do the work)."""
FILLED_SM_RATIO = 0.6
"""On a chip that is not filled the size of the work comes first, then its precision."""
TENSOR_OF_FP32 = 0.1
"""Tensor activity below a tenth of the FP32 activity: what could run there does not."""
MIXED_TENSOR_OF_FP32 = 0.5
"""From half of it on the ordinary pipe is the tensor work's own helper (softmax, scaling); between, a part counts."""


def _claim(view: View) -> Claim:
    fp32 = np.fmax(view.counters.while_busy(view.counters.fp32), view.counters.while_busy(view.counters.fp64))
    tensor = view.counters.while_busy(view.counters.tensor)
    filled = view.counters.while_busy(view.counters.sm) >= FILLED_SM_RATIO
    mixed = (MIXED_TENSOR_OF_FP32 - tensor / np.maximum(fp32, 1e-9)) / (MIXED_TENSOR_OF_FP32 - TENSOR_OF_FP32)
    plain = np.where((fp32 >= FP32_BOUND) & filled, np.clip(mixed, 0.0, 1.0), 0.0)
    return Claim(busy=plain, confidence=0.9)


def _findings(view: View) -> Findings:
    fp32 = view.mean(view.counters.while_busy(view.counters.fp32), view.busy)
    fp64 = view.mean(view.counters.while_busy(view.counters.fp64), view.busy)
    tensor = view.mean(view.counters.while_busy(view.counters.tensor), view.busy)
    sm = view.mean(view.counters.while_busy(view.counters.sm), view.busy)
    return Findings(
        fact("gpu_fp32_active_ratio", Text("FP32 pipe active while the GPU works"), fp32, FP32_BOUND)
        + fact("gpu_fp64_active_ratio", Text("FP64 pipe active while it works"), fp64 or None, FP32_BOUND)
        + fact(
            "gpu_tensor_active_ratio",
            Text("tensor pipes active while it works"),
            tensor,
            None if fp32 is None else TENSOR_OF_FP32 * fp32,
        )
        + fact("gpu_sm_active_ratio", Text("SMs active while it works"), sm, 0.8)
    )


CAUSE = Cause(
    id="no_tensor_cores",
    title=Text("Computes in FP32 beside idle tensor cores"),
    row_class=FAULT,
    advice=Text("Allow TF32 (torch.set_float32_matmul_precision('high')) or use BF16/FP16 autocast."),
    priority="P2",
    would_change=Text("Tensor pipes active, or an FP32 pipe that is not the limit."),
    claim=_claim,
    findings=_findings,
    source=Text("NVIDIA data sheets: TF32 at 8 times FP32; recordings"),
)
