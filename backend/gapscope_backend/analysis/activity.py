"""Activity: what a thread was doing in one stack sample, as far as the GPU's waiting is concerned."""

from __future__ import annotations

from collections.abc import Collection
from enum import IntEnum

import numpy as np
import numpy.typing as npt


class Activity(IntEnum):
    """One per sample. The order has no meaning; ``PASSIVE`` lists those in which the thread waits for others."""

    LAUNCH = 0
    """On its way through the framework that issues GPU work."""
    SYNC = 1
    """Fetches a result from the GPU to the host (``.item()``, ``.cpu()``, print of a tensor)."""
    DEVICE_WAIT = 2
    """Waits until the GPU has finished (synchronize)."""
    COPY = 3
    """Moves data between host and GPU, by the text of its line."""
    ALLOCATOR = 4
    """Allocates or frees device memory."""
    CHECKPOINT = 5
    """Saves or logs state."""
    LOADER_WAIT = 6
    """Waits for DataLoader workers."""
    LOADER_WORK = 7
    """Loads and collates a batch itself (DataLoader without workers)."""
    CPU_WORK = 8
    """Computes in a library known for CPU work: decoding, resizing, tokenising, tables."""
    PYTHON = 9
    """Runs code of its own, holding the interpreter lock."""
    NATIVE = 10
    """In a call out of its own code that has let go of the interpreter lock, or whose lock state is unknown."""
    GIL_WAIT = 11
    """Wants to go on but another thread owns the interpreter lock."""
    IO_WAIT = 12
    """Waits for a file or a socket that it reads."""
    QUEUE_WAIT = 13
    """Waits for somebody to hand it work."""
    BLOCKED = 14
    """Off the CPU in code of its own: it waits, and for what cannot be seen."""
    COLLECTIVE = 15
    """In a collective operation with other ranks."""
    PRODUCER_BUSY = 16
    """Waits for somebody to hand it work while another thread of its process computes."""
    CHILD_BUSY = 17
    """Waits for somebody to hand it work while child processes compute."""
    IMPORT = 18
    """Imports modules or compiles: a start, not a steady state."""
    STALLED = 19
    """Off the CPU inside a framework or library, for a reason that cannot be seen."""
    PRODUCER_READS = 20
    """Waits for somebody to hand it work while another thread of its process waits for storage or network."""
    UNSEEN = 21
    """No stack sample speaks for this time."""


ACTIVITY_COUNT = len(Activity)

HELPED = frozenset({Activity.PRODUCER_BUSY, Activity.PRODUCER_READS, Activity.CHILD_BUSY})
"""Waits for somebody who is seen at work on what is waited for."""
PASSIVE = HELPED | {Activity.QUEUE_WAIT, Activity.BLOCKED}
ON_CPU_WORK = frozenset({Activity.CPU_WORK, Activity.PYTHON, Activity.NATIVE, Activity.LOADER_WORK, Activity.IMPORT})


def is_one_of(activity: npt.NDArray[np.int64], chosen: Collection[Activity]) -> npt.NDArray[np.bool_]:
    """True where a sample's activity is one of the chosen: a look-up, many times faster than a search."""
    table = np.zeros(ACTIVITY_COUNT, dtype=np.bool_)
    table[list(chosen)] = True
    flags: npt.NDArray[np.bool_] = table[activity]
    return flags
