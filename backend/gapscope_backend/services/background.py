"""Work that goes on beside the requests: forgetting old data, renewing live requests."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger(__name__)


async def repeat(name: str, period_seconds: float, job: Callable[[], Awaitable[object]]) -> None:
    """Run ``job`` now and every period until cancelled. A failing run is logged and counted, the next one comes."""
    failures = 0
    while True:
        try:
            await job()
            failures = 0
        except Exception:
            # The loop runner: one bad run (a full disk, a locked file) must not end the job for good.
            failures += 1
            log.exception("%s failed, %d times in a row", name, failures)
        await asyncio.sleep(period_seconds)
