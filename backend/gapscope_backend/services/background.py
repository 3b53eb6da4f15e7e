"""Work that goes on beside the requests: forgetting old data, renewing live requests, watching the hosts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

log = logging.getLogger(__name__)

END_SECONDS = 5.0


async def repeat(
    name: str,
    period_seconds: float,
    job: Callable[[], Awaitable[object]],
    ends_with: tuple[type[Exception], ...] = (),
    wake: asyncio.Event | None = None,
) -> None:
    """Run ``job`` now and every period until cancelled. A failing run is logged and counted, the next one comes.

    Errors of ``ends_with`` are no failure: they end it and are passed on. Setting ``wake`` cuts the pause short.

    A run in progress is let finish: cut off inside the database driver it would leave a connection in an unknown state.
    """
    failures = 0
    while True:
        run = asyncio.ensure_future(job())
        try:
            await asyncio.shield(run)
            failures = 0
        except asyncio.CancelledError:
            await end([run])
            raise
        except ends_with:
            raise
        except Exception:
            # The loop runner: one bad run (a full disk, a locked file) must not end the job for good.
            failures += 1
            log.exception("%s failed, %d times in a row", name, failures)
        if wake is None:
            await asyncio.sleep(period_seconds)
            continue
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(wake.wait(), period_seconds)
        wake.clear()


async def end(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Let tasks finish for END_SECONDS, then cancel them."""
    waiting = list(tasks)
    if waiting:
        await asyncio.wait(waiting, timeout=END_SECONDS)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
