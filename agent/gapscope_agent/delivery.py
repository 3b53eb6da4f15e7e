"""Delivery beside whatever produces batches: the shipper and the live view as tasks of one scope."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from gapscope_agent.config import AgentConfig
from gapscope_agent.live import LiveSender
from gapscope_agent.shipper import Shipper
from gapscope_agent.wire import LiveFrame


@contextlib.asynccontextmanager
async def delivering(
    config: AgentConfig, shipper: Shipper, frame: Callable[[], LiveFrame | None]
) -> AsyncIterator[None]:
    """Run shipper and live view beside the body; at its end the shipper flushes what is queued."""
    ended = asyncio.Event()
    live = LiveSender(config, frame)
    tasks = [asyncio.create_task(shipper.run(ended)), asyncio.create_task(live.run(ended))]
    try:
        yield
    finally:
        ended.set()
        await asyncio.gather(*tasks)
