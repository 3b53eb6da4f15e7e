"""The whole agent on this machine, whatever it has, against a real server."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import numpy as np

from gapscope_agent import wire
from gapscope_agent.config import AgentConfig
from gapscope_agent.runtime import run_agent

Backend = Any


async def test_the_agent_sends_this_hosts_series_its_own_cost_and_live_frames(
    backend: Backend, config: AgentConfig
) -> None:
    stop = asyncio.Event()
    backend.watch_seconds = 60

    async def stop_when_complete(request: Any, number: int) -> Any:
        answer = await backend.store(request)
        if len(backend.batches) >= 3 and backend.frames:
            stop.set()
        return answer

    backend.replies = [stop_when_complete] * 1000
    await run_agent(msgspec.structs.replace(config, batch_seconds=0.4), stop)
    values = {
        (group.entity, name): column
        for batch in backend.batches
        for group in wire.decode_groups(batch)
        for name, column in group.values.items()
    }
    assert ("core:0", "cpu_core_busy_ratio") in values
    assert np.nanmax(values["host", "agent_resident_bytes"]) > 10e6
    assert len({batch.run_id for batch in backend.batches}) == 1
    assert not any(batch.recorded for batch in backend.batches)
    last = backend.batches[-1].accounting
    assert last.sampled == last.delivered + last.buffered
    assert {key.partition(":")[0] for frame in backend.frames for key in frame.values} <= {
        "host",
        "gpu",
        "core",
        "process",
    }
