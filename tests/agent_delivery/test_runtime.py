"""The whole agent on this machine, whatever it has, against a real server."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import msgspec
import numpy as np
import pytest

from gapscope_agent import wire
from gapscope_agent.config import AgentConfig
from gapscope_agent.runtime import run_agent
from gapscope_agent.sources.base import Context

Backend = Any


@pytest.mark.alone
async def test_stacks_that_are_asked_for_come_with_the_batches(
    backend: Backend, config: AgentConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = asyncio.Event()
    backend.stack_seconds = 60

    async def stop_when_sampled(request: Any, number: int) -> Any:
        answer = await backend.store(request)
        if any(batch.samples for batch in backend.batches):
            stop.set()
        return answer

    backend.replies = [stop_when_sampled] * 1000
    sleeping = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(1000)")

    def owned(**settings: Any) -> Context:
        context = Context(**settings)
        context.owners.replace(0, [sleeping.pid])
        return context

    monkeypatch.setattr("gapscope_agent.runtime.Context", owned)
    try:
        await run_agent(msgspec.structs.replace(config, batch_seconds=0.4), stop)
    finally:
        sleeping.kill()
        await sleeping.wait()
    batch = next(batch for batch in backend.batches if any(sample.pid == sleeping.pid for sample in batch.samples))
    sample = next(sample for sample in batch.samples if sample.pid == sleeping.pid)
    assert sample.tid == sleeping.pid
    assert [batch.frames[frame].function for frame in batch.stacks[sample.stack]][-1:] == ["<module>"]
    events = [event.text for batch in backend.batches for event in batch.events]
    assert f"stacks:{sleeping.pid}: sampling" in events
    labels = {e.key: e.labels for batch in backend.batches for e in batch.entities}
    assert "PATH" not in labels[f"process:{sleeping.pid}"].get("environment", "")


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
