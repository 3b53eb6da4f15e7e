"""Are native calls out of own code launches of GPU work, or CPU work of a library that runs below Python?

A call into a C library (OpenCV, a tokenizer, own extensions) has no frame of its own and lets go of the interpreter
lock, as a kernel launch does. The link tells them apart: a launch sends 0.4 to 5 kB of commands to the GPU.
"""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.launch_bound import SMALL_SM_RATIO, filling_of_fed
from gapscope_backend.analysis.causes.transfer import STRONG_SHARE, engine_share
from gapscope_backend.analysis.counters import around
from gapscope_backend.analysis.gaps import Flags
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

LAUNCHING_BYTES_PER_SECOND = 10e6
"""A thread that does nothing but launch sends at least this (seen: 10 to 125 MB/s through the deep Python of a language
model, 90 to 260 MB/s elsewhere); an idle GPU is sent 0.5 MB/s."""
CERTAIN, LIKELY = 0.5, 5.0
"""Traffic over that rate. Below ``CERTAIN`` the calls cannot be launches; up to ``LIKELY`` they are not where other
signs agree (seen: 2.8 with decoding on the CPU, inputs included; 9.9 where every launch waits for the one before)."""
TENSORS_ON_CPU_TRAFFIC = 0.2
"""Below this even calls in the framework's own frames are no launches: a fifth of the slowest launching loop."""
MOSTLY_IDLE = 0.3
"""Kernels that fill a good part of the SMs last longer than their launch; launched without pause they keep the GPU
busy for more than this."""
LEAST_SECONDS = 0.2
"""Less launching time than this within the time around a cell tells nothing about its traffic."""
PATH = (Activity.LAUNCH, Activity.NATIVE, Activity.COPY)


def launching_traffic(view: View) -> Floats:
    """PCIe traffic to the device over what the thread would cause by launching all of the idle time, around each cell.

    NaN where the traffic is not known or the thread is at something else.
    """
    known = ~np.isnan(view.counters.rx)
    traffic = around(np.where(known, np.nan_to_num(view.counters.rx) * view.seconds, 0.0))
    calls = around(np.where(known, view.host.share[list(PATH)].sum(axis=0) * view.idle, 0.0))
    rate = np.full(calls.size, np.nan)
    np.divide(traffic, LAUNCHING_BYTES_PER_SECOND * calls, out=rate, where=calls > LEAST_SECONDS)
    return rate


def mean_traffic(view: View) -> float | None:
    """The same over the whole window."""
    return view.mean(launching_traffic(view), view.idle)


def _big_kernels_rarely(view: View) -> Flags:
    """Does work that fills the SMs arrive so rarely that it is not launched all the time?"""
    framework, native = view.near_activity(Activity.LAUNCH), view.near_activity(Activity.NATIVE)
    idle = view.near_mean(view.counters.graphics) < MOSTLY_IDLE
    return idle & (2 * framework <= native) & (filling_of_fed(view) >= SMALL_SM_RATIO)


def cpu_share_of_native(view: View) -> Floats:
    """1 in cells where native calls from own code are CPU work, 0 where they may be launches."""
    limit = np.where(_big_kernels_rarely(view), LIKELY, CERTAIN)
    return np.where((launching_traffic(view) < limit) & (engine_share(view) < STRONG_SHARE), 1.0, 0.0)


def cpu_share_of_launch(view: View) -> Floats:
    """The same for the framework's own frames: tensors on the CPU cause no traffic at all."""
    rare = launching_traffic(view) < TENSORS_ON_CPU_TRAFFIC
    return np.where(rare & (engine_share(view) < STRONG_SHARE), 1.0, 0.0)
