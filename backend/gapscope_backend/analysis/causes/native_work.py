"""Are native calls out of own code launches of GPU work, or CPU work of a library that runs below Python?

A call into a C library (OpenCV, a tokenizer, own extensions) has no frame of its own and lets go of the interpreter
lock, as a kernel launch does. The link tells them apart: a launch sends 1.7 to 5 kB of commands to the GPU.
"""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.launch_bound import SMALL_SM_RATIO, filling_of_fed
from gapscope_backend.analysis.causes.transfer import STRONG_SHARE, engine_share
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

LAUNCHING_BYTES_PER_SECOND = 34e6
"""A thread that does nothing but launch sends at least this: 20,000 launches a second of 1.7 kB (seen on recordings:
52 MB/s through the deep Python of a language model, 99 to 245 MB/s elsewhere)."""
CERTAIN, LIKELY = 0.5, 1.5
"""Traffic over that rate. Below ``CERTAIN`` the calls cannot be launches; up to ``LIKELY`` they are not where other
signs agree."""
TENSORS_ON_CPU_TRAFFIC = 0.2
"""Below this even calls in the framework's own frames are no launches: a fifth of the slowest launching loop."""
MOSTLY_IDLE = 0.3
"""Kernels that fill a good part of the SMs last longer than their launch; launched without pause they keep the GPU
busy for more than this."""
PATH = (Activity.LAUNCH, Activity.NATIVE, Activity.COPY)


def launching_traffic(view: View) -> float | None:
    """PCIe traffic to the device over what the thread would cause by launching all of the idle time; None unknown."""
    rate, idle = view.mean(view.counters.rx), float(view.idle.sum()) / max(view.window.seconds, 1e-9)
    share = view.mean_activity(*PATH) * idle
    return None if rate is None or share <= 0 else rate / (LAUNCHING_BYTES_PER_SECOND * share)


def _framework_leads(view: View) -> bool:
    return view.mean_activity(Activity.LAUNCH) * 2 > view.mean_activity(Activity.NATIVE)


def cpu_share_of_native(view: View) -> Floats:
    """1 in cells where native calls from own code are CPU work, 0 where they may be launches."""
    nothing = np.zeros(view.seconds.size)
    traffic, active = launching_traffic(view), view.mean(view.counters.graphics)
    if traffic is None or active is None:
        return nothing
    big = filling_of_fed(view) >= SMALL_SM_RATIO and active < MOSTLY_IDLE and not _framework_leads(view)
    if traffic >= (LIKELY if big else CERTAIN):
        return nothing
    return np.where(engine_share(view) >= STRONG_SHARE, 0.0, 1.0)


def cpu_share_of_launch(view: View) -> Floats:
    """The same for the framework's own frames: tensors on the CPU cause no traffic at all."""
    traffic = launching_traffic(view)
    if traffic is None or traffic >= TENSORS_ON_CPU_TRAFFIC:
        return np.zeros(view.seconds.size)
    return np.where(engine_share(view) >= STRONG_SHARE, 0.0, 1.0)
