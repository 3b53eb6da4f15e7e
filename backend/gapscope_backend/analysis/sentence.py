"""The one plain sentence on top of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import NONE, GpuVerdict, LedgerRow
from gapscope_backend.analysis.window import Window

_SAYS = {
    "healthy": Text("{gpu!u} worked well: no fault or limit cost more than a small share of {time}."),
    "no_work": Text("{gpu!u} had no work for {share:.0%} of {time}: its owner slept and nothing arrived."),
    "unallocated": Text("Nobody held {gpu} for {share:.0%} of {time}."),
    "upstream_wait": Text("{gpu!u} waited {share:.0%} of {time} for requests or for a batching window."),
    "cpu_preprocess": Text("{gpu!u} waited {share:.0%} of {time} for CPU work in the process that feeds it{where}."),
    "dataloader_starved": Text("{gpu!u} waited {share:.0%} of {time} for the DataLoader{where}."),
    "cpu_oversubscribed": Text("{gpu!u} waited {share:.0%} of {time} because its host's cores were all taken."),
    "cpu_quota": Text("{gpu!u} waited {share:.0%} of {time} because its container's CPU quota was used up."),
    "gil_contention": Text("{gpu!u} waited {share:.0%} of {time} for Python's interpreter lock{where}."),
    "io_wait": Text("{gpu!u} waited {share:.0%} of {time} for storage or network{where}."),
    "checkpoint_stall": Text("{gpu!u} waited {share:.0%} of {time} while state was saved or logged{where}."),
    "h2d_copy": Text("{gpu!u} spent {share:.0%} of {time} on copies from host to device."),
    "d2h_copy": Text("{gpu!u} spent {share:.0%} of {time} on copies back to the host."),
    "transfer": Text("{gpu!u} spent {share:.0%} of {time} on moving data over PCIe."),
    "pcie_degraded": Text("{gpu!u} spent {share:.0%} of {time} on copies over a PCIe link below its maximum."),
    "numa_remote": Text("{gpu!u} spent {share:.0%} of {time} on copies that are slow because the far socket feeds it."),
    "memory_pressure": Text("{gpu!u} lost {share:.0%} of {time} because memory was short{where}."),
    "launch_bound": Text("{gpu!u} waited {share:.0%} of {time} for the host to launch its many small kernels{where}."),
    "sync_points": Text(
        "{gpu!u} and host waited for each other for {share:.0%} of {time}, as each step fetches a result{where}."
    ),
    "allocator_thrash": Text(
        "{gpu!u} waited {share:.0%} of {time} while device memory was allocated and freed{where}."
    ),
    "batch_too_small": Text("{gpu!u} worked for {share:.0%} of {time} on batches too small to fill it."),
    "memory_bound": Text("{gpu!u} ran at the limit of its memory bandwidth for {share:.0%} of {time}."),
    "no_tensor_cores": Text("{gpu!u} computed in FP32 beside idle tensor cores for {share:.0%} of {time}."),
    "straggler": Text("{gpu!u} lost {share:.0%} of {time} spinning in a collective for a slower peer."),
    "gpu_imbalance": Text("{gpu!u} lost {share:.0%} of {time} with one GPU idle while its sibling was full."),
    "gpu_shared": Text("{gpu!u} was taken in turns by another process, for {share:.0%} of {time}."),
    "throttled": Text("{gpu!u} lost {share:.0%} of {time} to reduced clocks."),
    "host_side": Text("{gpu!u} was held up by the host for {share:.0%} of {time}; the data does not tell more."),
    "gpu_side": Text("{gpu!u} was held up on its own side for {share:.0%} of {time}; the data does not tell more."),
    "unknown": Text("{gpu!u} lost {share:.0%} of {time} to something that the data does not explain."),
    "not_measured": Text("Of {gpu} nothing is known for {share:.0%} of {time}."),
}


BLIND_SHARE = 0.1
"""Time without data of at least this share is told beside another verdict."""


_ONE = (Text("{amount:.0f} ms"), Text("{amount:.0f} s"), Text("{amount:.0f} min"))
_MANY = (
    Text("{amount:.0f} GPU-milliseconds"),
    Text("{amount:.0f} GPU-seconds"),
    Text("{amount:.0f} GPU-minutes"),
)


def _amount(seconds: float, units: tuple[Text, Text, Text]) -> Text:
    """A length of time, or GPU time, in the coarsest unit that shows it."""
    if seconds < 0.5:
        return units[0].of(amount=seconds * 1e3)
    return units[1].of(amount=seconds) if seconds < 600 else units[2].of(amount=seconds / 60)


def _moment(ns: int) -> str:
    return f"{datetime.fromtimestamp(ns // 1_000_000_000, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def verdict_sentence(window: Window, verdict: str, ledger: Sequence[LedgerRow], gpus: Sequence[GpuVerdict]) -> Text:
    """What happened, how much, and where in the code the most of it fell."""
    if not window.measured:
        start, end = _moment(window.start_ns), _moment(window.end_ns)
        return Text("There is no data from {start} to {end}.", start=start, end=end)
    if not gpus:
        return Text("There is no GPU time to explain in this window.")
    one = len(gpus) == 1
    name = Text("the {name}", name=gpus[0].name) if one else Text("the {count} GPUs", count=len(gpus))
    time = _amount(window.seconds * len(gpus), _ONE if one else _MANY)
    rows = {row.cause: row for row in ledger}
    said = tell(verdict, name, time, rows.get(verdict))
    blind = rows["not_measured"].share if "not_measured" in rows else 0.0
    if verdict != "not_measured" and blind >= BLIND_SHARE:
        return Text("{said} There is no data for {share:.0%} of that time.", said=said, share=blind)
    return said


def tell(verdict: str, name: Text, time: Text, row: LedgerRow | None) -> Text:
    """The sentence of a verdict on the GPUs called ``name`` over ``time``; ``row`` is the verdict's."""
    where = NONE
    if row is not None and row.hotspots:
        spot = row.hotspots[0]
        where = Text(
            ", most often in {function} ({file}:{line})", function=spot.function, file=spot.file, line=spot.line
        )
    return _SAYS[verdict].of(gpu=name, share=row.share if row is not None else 0.0, time=time, where=where)
