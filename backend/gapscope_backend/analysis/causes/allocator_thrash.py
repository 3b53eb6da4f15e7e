"""``allocator_thrash``: device memory is allocated and freed in every step."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact, stack_confidence
from gapscope_backend.analysis.causes.transfer import STRONG_SHARE, TRAFFIC_LINK_SHARE, engine_share
from gapscope_backend.analysis.counters import link_bytes_per_second
from gapscope_backend.analysis.gaps import Flags
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

ALLOCATOR_SHARE = 0.1
"""Frames of the allocator in a tenth of the idle time: emptying the cache is then a habit, and the calls that fill
it again pay for it too."""


def driver_busy(view: View) -> Flags:
    """Cells in which the driver counts the GPU as used though neither kernels run nor data moves."""
    link = link_bytes_per_second(view.gpu)
    traffic = np.maximum(np.nan_to_num(view.counters.rx), np.nan_to_num(view.counters.tx)) / link
    flags: Flags = (engine_share(view) >= STRONG_SHARE) & (traffic < TRAFFIC_LINK_SHARE)
    return flags


def _claim(view: View) -> Claim:
    habit = view.mean_activity(Activity.ALLOCATOR) >= ALLOCATOR_SHARE
    refill = np.where(driver_busy(view) & habit, 1.0, 0.0)
    idle: dict[Activity, Floats | float] = {
        Activity.ALLOCATOR: 1.0,
        **dict.fromkeys((Activity.NATIVE, Activity.LAUNCH, Activity.BLOCKED, Activity.STALLED), refill),
    }
    return Claim(idle, confidence=stack_confidence(view))


def _findings(view: View) -> Findings:
    return Findings(
        fact(
            "stacks",
            Text("idle time in frames of the device memory allocator"),
            view.mean_activity(Activity.ALLOCATOR),
            ALLOCATOR_SHARE,
        )
        + fact(
            "gpu_utilization_ratio",
            Text("time that the driver counts as use though no kernel runs"),
            view.mean(engine_share(view)),
            STRONG_SHARE,
        )
        + fact(
            "process_system_cores",
            Text("CPU of the owners inside the kernel"),
            view.mean(view.cpu.owners_system),
            0.2,
            "cores",
        )
    )


CAUSE = Cause(
    id="allocator_thrash",
    title=Text("Allocates and frees device memory"),
    row_class=FAULT,
    advice=Text(
        "Remove empty_cache() from the loop, allocate buffers once, and against fragmentation set "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True."
    ),
    priority="P2",
    would_change=Text("No allocator frames in the feeding thread's stacks."),
    claim=_claim,
    findings=_findings,
    activities=(Activity.ALLOCATOR, Activity.NATIVE, Activity.LAUNCH),
    source=Text("PyTorch CUDA memory management notes; recordings"),
)
