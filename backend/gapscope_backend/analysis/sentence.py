"""The one plain sentence on top of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from gapscope_backend.analysis.verdict import GpuVerdict, LedgerRow
from gapscope_backend.analysis.window import Window

_SAYS = {
    "healthy": "{gpu} worked well: no fault or limit cost more than a small share of {time}.",
    "no_work": "{gpu} had no work for {share} of {time}: its owner slept and nothing arrived.",
    "unallocated": "Nobody held {gpu} for {share} of {time}.",
    "upstream_wait": "{gpu} waited {share} of {time} for requests or for a batching window.",
    "cpu_preprocess": "{gpu} waited {share} of {time} for CPU work in the process that feeds it{where}.",
    "dataloader_starved": "{gpu} waited {share} of {time} for the DataLoader{where}.",
    "cpu_oversubscribed": "{gpu} waited {share} of {time} because its host's cores were all taken.",
    "cpu_quota": "{gpu} waited {share} of {time} because its container's CPU quota was used up.",
    "gil_contention": "{gpu} waited {share} of {time} for Python's interpreter lock{where}.",
    "io_wait": "{gpu} waited {share} of {time} for storage or network{where}.",
    "checkpoint_stall": "{gpu} waited {share} of {time} while state was saved or logged{where}.",
    "h2d_copy": "{gpu} spent {share} of {time} on copies from host to device.",
    "d2h_copy": "{gpu} spent {share} of {time} on copies back to the host.",
    "transfer": "{gpu} spent {share} of {time} on moving data over PCIe.",
    "pcie_degraded": "{gpu} spent {share} of {time} on copies over a PCIe link below its maximum.",
    "numa_remote": "{gpu} spent {share} of {time} on copies that are slow because the far socket feeds it.",
    "memory_pressure": "{gpu} lost {share} of {time} because memory was short{where}.",
    "launch_bound": "{gpu} waited {share} of {time} for the host to launch its many small kernels{where}.",
    "sync_points": "{gpu} and host waited for each other for {share} of {time}, as each step fetches a result{where}.",
    "allocator_thrash": "{gpu} waited {share} of {time} while device memory was allocated and freed{where}.",
    "batch_too_small": "{gpu} worked for {share} of {time} on batches too small to fill it.",
    "memory_bound": "{gpu} ran at the limit of its memory bandwidth for {share} of {time}.",
    "no_tensor_cores": "{gpu} computed in FP32 beside idle tensor cores for {share} of {time}.",
    "straggler": "{gpu} lost {share} of {time} spinning in a collective for a slower peer.",
    "gpu_imbalance": "{gpu} lost {share} of {time} with one GPU idle while its sibling was full.",
    "gpu_shared": "{gpu} was taken in turns by another process, for {share} of {time}.",
    "throttled": "{gpu} lost {share} of {time} to reduced clocks.",
    "host_side": "{gpu} was held up by the host for {share} of {time}; the data does not tell more.",
    "gpu_side": "{gpu} was held up on its own side for {share} of {time}; the data does not tell more.",
    "unknown": "{gpu} lost {share} of {time} to something that the data does not explain.",
    "not_measured": "Of {gpu} nothing is known for {share} of {time}.",
}


BLIND_SHARE = 0.1
"""Time without data of at least this share is told beside another verdict."""


def _amount(seconds: float, unit: str) -> str:
    """A length of time, or GPU time, in the coarsest unit that shows it."""
    if seconds < 0.5:
        return f"{seconds * 1e3:.0f} {unit.format('ms', 'milliseconds')}"
    if seconds < 600:
        return f"{seconds:.0f} {unit.format('s', 'seconds')}"
    return f"{seconds / 60:.0f} {unit.format('min', 'minutes')}"


def _moment(ns: int) -> str:
    return f"{datetime.fromtimestamp(ns // 1_000_000_000, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def verdict_sentence(window: Window, verdict: str, ledger: Sequence[LedgerRow], gpus: Sequence[GpuVerdict]) -> str:
    """What happened, how much, and where in the code the most of it fell."""
    if not window.measured:
        return f"There is no data from {_moment(window.start_ns)} to {_moment(window.end_ns)}."
    if not gpus:
        return "There is no GPU time to explain in this window."
    one = len(gpus) == 1
    name = f"the {gpus[0].name}" if one else f"the {len(gpus)} GPUs"
    time = _amount(window.seconds * len(gpus), "{0}" if one else "GPU-{1}")
    rows = {row.cause: row for row in ledger}
    said = tell(verdict, name, time, rows.get(verdict))
    blind = rows["not_measured"].share if "not_measured" in rows else 0.0
    if verdict != "not_measured" and blind >= BLIND_SHARE:
        said += f" There is no data for {blind:.0%} of that time."
    return said


def tell(verdict: str, name: str, time: str, row: LedgerRow | None) -> str:
    """The sentence of a verdict on the GPUs called ``name`` over ``time``; ``row`` is the verdict's."""
    where = ""
    if row is not None and row.hotspots:
        spot = row.hotspots[0]
        where = f", most often in {spot.function} ({spot.file}:{spot.line})"
    share = f"{row.share:.0%}" if row is not None else "0%"
    said = _SAYS[verdict].format(gpu=name, share=share, time=time, where=where)
    return said[0].upper() + said[1:]
