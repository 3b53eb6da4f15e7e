"""``sync_points``: host and GPU wait for each other in turn, because each step fetches a result."""

from __future__ import annotations

import numpy as np

from gapscope_backend.analysis.activity import Activity
from gapscope_backend.analysis.causes.cause import FAULT, Cause, Claim, Findings, fact, stack_confidence
from gapscope_backend.analysis.causes.launch_bound import PATH
from gapscope_backend.analysis.counters import ratio
from gapscope_backend.analysis.gaps import Flags
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.view import View
from gapscope_backend.analysis.window import Floats

SYNC_SHARE = 0.4
"""From this share of the launching time on, the syncs keep the host from running ahead, so that all of it counts to
them (seen: 0.9 with a result read after each layer; about 0 with one read per request, once waits that the GPU's work
explains are taken out)."""


WAITS = (Activity.SYNC, Activity.DEVICE_WAIT)
"""Waits for the GPU that its own work does not explain."""
LAUNCHES = (Activity.LAUNCH, Activity.NATIVE, Activity.COPY)
WAITS_SHARE = 0.4
"""Share of all its time that the feeding thread waits for the GPU, from which waiting is part of every step."""
LAUNCHING_PER_WAIT = 0.2
"""Explicit waits are part of the picture only where launching takes at least a fifth of their time."""


def _calls(view: View) -> Floats:
    return view.near_activity(*PATH) - view.near_activity(Activity.SYNC)


def _alternates(view: View) -> Flags:
    waits = view.near_activity(Activity.DEVICE_WAIT)
    flags: Flags = (waits > 0) & (_calls(view) >= LAUNCHING_PER_WAIT * waits)
    return flags


def sync_share(view: View) -> Floats:
    """Share of the idle launching time around each cell that the feeding thread spends fetching results or waiting for
    the GPU."""
    explicit = np.where(_alternates(view), view.near_activity(Activity.DEVICE_WAIT), 0.0)
    waits = explicit + view.near_activity(Activity.SYNC)
    return ratio(waits, waits + _calls(view))


def _would_overlap(view: View) -> Flags:
    """Does the host wait for the GPU between launches that would hide behind the GPU's work if it did not wait?

    Over all samples the thread waits for the GPU for a good part and launches for less time than the GPU works: only
    the waits keep the two from overlapping.
    """
    waits, launches = view.host.near(*WAITS), view.host.near(*LAUNCHES)
    flags: Flags = (waits >= WAITS_SHARE) & (LAUNCHING_PER_WAIT * waits <= launches)
    return flags & (launches <= view.near_mean(view.counters.graphics))


def _claim(view: View) -> Claim:
    dominant = ((sync_share(view) >= SYNC_SHARE) | _would_overlap(view)).astype(np.float64)
    waits = np.where(_alternates(view), dominant, 0.0)
    idle: dict[Activity, Floats | float] = {Activity.SYNC: 1.0, Activity.DEVICE_WAIT: waits}
    idle |= {Activity.LAUNCH: dominant, Activity.NATIVE: dominant}
    return Claim(idle, confidence=stack_confidence(view))


def _findings(view: View) -> Findings:
    return Findings(
        fact(
            "stacks",
            Text("of the idle launching time goes to fetching results or waiting for the GPU"),
            view.mean(sync_share(view), view.idle),
            SYNC_SHARE,
        )
        + fact(
            "pcie_tx_bytes_per_second",
            Text("device to host, small pieces"),
            view.mean(view.counters.tx),
            None,
            "bytes/s",
        )
    )


CAUSE = Cause(
    id="sync_points",
    title=Text("Host and GPU wait for each other"),
    row_class=FAULT,
    advice=Text(
        "Keep results on the GPU: collect losses as tensors, read them every hundred steps, log from another "
        "stream, avoid .item(), .cpu(), nonzero and prints of tensors in the loop."
    ),
    priority="P3",
    would_change=Text("Source lines without a fetch, or a thread that runs ahead of the GPU."),
    claim=_claim,
    findings=_findings,
    activities=PATH,
    source=Text("PyTorch performance tuning guide; recordings"),
)
