"""What following a row's advice would give back, where that can be reckoned from what was measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gapscope_backend.analysis.causes.transfer import PRACTICAL_LINK_SHARE
from gapscope_backend.analysis.counters import link_bytes_per_second
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.ledger import Entry
from gapscope_backend.analysis.view import View

TF32_OVER_FP32 = 8.0
"""TF32 tensor peak over FP32 peak (NVIDIA A100 and H100 data sheets: 156/19.5 and 495/67 dense TFLOP/s)."""


class Gain(NamedTuple):
    """GPU-seconds given back and the reckoning in a few words."""

    text: Text
    gpu_seconds: float


def _whole(view: View, entry: Entry) -> Gain:
    return Gain(Text("all of it, once nothing makes the GPU wait for this"), entry.seconds)


def _overlapped(view: View, entry: Entry) -> Gain:
    """Two stages after each other take a + b, beside each other max(a, b)."""
    rest = max(0.0, view.window.seconds - entry.seconds)
    return Gain(Text("run beside the GPU's work, the shorter of the two disappears"), min(entry.seconds, rest))


def _loader(view: View, entry: Entry) -> Gain:
    """Loading time falls with the cores that load."""
    loading = max(view.mean(view.cpu.children) or 0.0, 1.0)
    free = max(0.0, view.window.logical_cpus - (view.mean(view.cpu.host) or view.window.logical_cpus))
    more = min(entry.seconds, entry.seconds * free / (loading + free))
    return Gain(Text("{free:.0f} free cores beside {loading:.0f} that load", free=free, loading=loading), more)


def _copy(view: View, entry: Entry) -> Gain:
    rates = [rate for rate in (view.mean(view.counters.rx), view.mean(view.counters.tx)) if rate is not None]
    share = max(rates, default=0.0) / (link_bytes_per_second(view.gpu) * PRACTICAL_LINK_SHARE)
    if share < 0.8:
        return Gain(Text("copies at the link's full rate"), entry.seconds * (1.0 - share))
    return _overlapped(view, entry)


def _launches(view: View, entry: Entry) -> Gain:
    return Gain(Text("kernels back to back: the time between them"), entry.idle_seconds)


def _tensor_cores(view: View, entry: Entry) -> Gain:
    """The work shrinks to the tensor cores' pace or to what memory allows, whichever is longer."""
    dram = view.mean(view.counters.while_busy(view.counters.dram), view.busy) or 0.0
    return Gain(
        Text("at TF32's pace, or the memory's"), entry.seconds * (1.0 - min(1.0, max(1 / TF32_OVER_FP32, dram)))
    )


def _filling(view: View, entry: Entry) -> Gain:
    filled = view.mean(view.counters.while_busy(view.counters.sm), view.busy) or 0.0
    return Gain(Text("the same work on all SMs"), entry.seconds * (1.0 - min(1.0, filled)))


def _half(view: View, entry: Entry) -> Gain:
    return Gain(Text("work shared evenly with the sibling"), entry.seconds / 2)


RULES: dict[str, Callable[[View, Entry], Gain]] = {
    "cpu_preprocess": _overlapped,
    "gil_contention": _whole,
    "dataloader_starved": _loader,
    "io_wait": _overlapped,
    "checkpoint_stall": _whole,
    "upstream_wait": _whole,
    "sync_points": _launches,
    "launch_bound": _launches,
    "allocator_thrash": _whole,
    "h2d_copy": _copy,
    "d2h_copy": _copy,
    "pcie_degraded": _copy,
    "numa_remote": _copy,
    "no_tensor_cores": _tensor_cores,
    "batch_too_small": _filling,
    "gpu_imbalance": _half,
    "straggler": _whole,
    "throttled": _whole,
    "cpu_quota": _whole,
    "cpu_oversubscribed": _whole,
}
"""Limits, unused time and coarse rows have no estimate."""


def expected_gain(view: View, entry: Entry) -> Gain | None:
    """The gain of one row, None where nothing can be said."""
    rule = RULES.get(entry.cause.id)
    return None if rule is None else rule(view, entry)
