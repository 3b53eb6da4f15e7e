"""All causes. The order of ``CAUSES`` is the order of claims: what is more specific or better evidenced comes first."""

from __future__ import annotations

from gapscope_backend.analysis.causes import (
    allocator_thrash,
    batch_too_small,
    checkpoint_stall,
    cpu_oversubscribed,
    cpu_preprocess,
    cpu_quota,
    dataloader_starved,
    gil_contention,
    gpu_imbalance,
    gpu_shared,
    io_wait,
    launch_bound,
    memory_bound,
    memory_pressure,
    no_tensor_cores,
    no_work,
    numa_remote,
    pcie_degraded,
    straggler,
    sync_points,
    throttled,
    transfer,
    unallocated,
    upstream_wait,
)
from gapscope_backend.analysis.causes.cause import Cause
from gapscope_backend.analysis.causes.coarse import GPU_SIDE, HOST_SIDE
from gapscope_backend.analysis.causes.plain import HEALTHY, NOT_MEASURED, UNKNOWN

CAUSES: tuple[Cause, ...] = (
    unallocated.CAUSE,
    straggler.CAUSE,
    gpu_imbalance.CAUSE,
    throttled.CAUSE,
    gpu_shared.CAUSE,
    cpu_quota.CAUSE,
    pcie_degraded.CAUSE,
    numa_remote.CAUSE,
    memory_pressure.CAUSE,
    transfer.H2D,
    transfer.D2H,
    transfer.TRANSFER,
    cpu_oversubscribed.CAUSE,
    allocator_thrash.CAUSE,
    checkpoint_stall.CAUSE,
    io_wait.CAUSE,
    dataloader_starved.CAUSE,
    cpu_preprocess.CAUSE,
    gil_contention.CAUSE,
    sync_points.CAUSE,
    launch_bound.CAUSE,
    no_work.CAUSE,
    upstream_wait.CAUSE,
    memory_bound.CAUSE,
    no_tensor_cores.CAUSE,
    batch_too_small.CAUSE,
    HOST_SIDE,
    GPU_SIDE,
    HEALTHY,
    UNKNOWN,
    NOT_MEASURED,
)
BY_ID: dict[str, Cause] = {cause.id: cause for cause in CAUSES}
