"""All kinds of rules. A new one is one file and one entry in ``KINDS``."""

from __future__ import annotations

from gapscope_backend.alerts.rules import (
    agent_silent,
    cause_holding,
    ecc,
    gpu_lost,
    idle_share,
    link_degraded,
    lost_rate,
    memory_near_full,
    straggler,
    throttling,
    utilization_drop,
    xid,
)
from gapscope_backend.alerts.rules.kind import Kind

KINDS: tuple[Kind, ...] = (
    utilization_drop.KIND,
    lost_rate.KIND,
    idle_share.KIND,
    cause_holding.KIND,
    straggler.KIND,
    memory_near_full.KIND,
    throttling.KIND,
    xid.KIND,
    ecc.KIND,
    gpu_lost.KIND,
    link_degraded.KIND,
    agent_silent.KIND,
)
BY_NAME: dict[str, Kind] = {kind.name: kind for kind in KINDS}
