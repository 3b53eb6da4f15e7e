"""Feeding threads: the threads of a GPU's owners that issue its work, recognised by their stacks."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import PASSIVE, Activity, is_one_of
from gapscope_backend.analysis.samples import Flags, Samples

SHARE_OF_BEST = 0.10
"""A thread feeds the GPU when it is seen issuing work at least a tenth as often as its process's busiest feeder."""


def _feeders_of_process(samples: Samples, pid: int) -> list[int]:
    mine = samples.pids == pid
    filled = np.array([bool(stack) for stack in samples.source.stacks])
    seen = filled[samples.stack[mine]]
    tids = samples.tids[mine]
    if not seen.any():
        return []
    issues = {int(tid): int((samples.feeds[mine] & (tids == tid)).sum()) for tid in np.unique(tids)}
    best = max(issues.values())
    if best:
        return [tid for tid, count in issues.items() if count >= SHARE_OF_BEST * best]
    native = samples.activity[mine] == Activity.NATIVE
    calls = {int(tid): int((native & (tids == tid)).sum()) for tid in np.unique(tids[seen])}
    if max(calls.values()):
        return [max(calls, key=lambda tid: calls[tid])]
    return [pid] if pid in calls else [min(calls)]


def feeder_flags(samples: Samples, owners: tuple[int, ...]) -> Flags:
    """True for the samples of threads that feed a GPU held by ``owners``."""
    flags = np.zeros(samples.count, dtype=bool)
    for pid in owners:
        for tid in _feeders_of_process(samples, pid):
            flags |= (samples.pids == pid) & (samples.tids == tid)
    return flags


def feeding_threads(samples: Samples | None, feeders: Flags) -> list[tuple[int, int]]:
    """Pid and tid of the feeding threads."""
    if samples is None:
        return []
    number, first = samples.threads
    feeding = first[np.bincount(number[feeders], minlength=first.size) > 0]
    return sorted(zip(samples.pids[feeding].tolist(), samples.tids[feeding].tolist(), strict=True))


def leading(samples: Samples, feeders: Flags) -> Flags:
    """Feeder samples without those that merely wait while another feeder of the same snapshot does something."""
    passive = is_one_of(samples.activity, PASSIVE)
    doing = np.bincount(samples.snapshot, weights=(feeders & ~passive).astype(np.float64)) > 0
    return feeders & ~(passive & doing[samples.snapshot])
