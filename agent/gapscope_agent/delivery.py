"""Delivery beside whatever produces batches: the shipper and the live view as tasks of one scope."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable

from gapscope_agent.config import AgentConfig
from gapscope_agent.live import LiveSender
from gapscope_agent.shipper import Shipper
from gapscope_agent.wire import LiveFrame


@contextlib.asynccontextmanager
async def delivering(
    config: AgentConfig,
    shipper: Shipper,
    frame: Callable[[], LiveFrame | None],
    watched: threading.Event,
    stop: asyncio.Event,
    stacks_asked: Callable[[float], None] | None = None,
) -> AsyncIterator[None]:
    """Run shipper and live view beside the body; at its end the shipper flushes what is queued.

    ``watched`` is set while somebody looks at the live view; ``stacks_asked`` is told when somebody wants stacks.

    A task that fails sets ``stop``, and its error is raised when the body has ended.
    """
    ended = asyncio.Event()
    live = LiveSender(config, frame, watched, stacks_asked=stacks_asked)
    tasks = [asyncio.create_task(shipper.run(ended)), asyncio.create_task(live.run(ended))]
    for task in tasks:
        task.add_done_callback(lambda _: stop.set())
    try:
        yield
    finally:
        ended.set()
        await asyncio.gather(*tasks)
