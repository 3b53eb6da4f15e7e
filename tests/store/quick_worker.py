"""A real worker on the database of the first argument that waits a second where others wait half a minute."""

from __future__ import annotations

import asyncio
import signal
import sys

from gapscope_backend.services import jobs
from gapscope_backend.store import compaction, merging
from gapscope_backend.store.retention import Retention

SETTLE_NS = 1_000_000_000


async def work(url: str) -> None:
    """Work until SIGTERM."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    print("working", flush=True)
    await jobs.run_worker(url, Retention(), "quick-worker", stop)


if __name__ == "__main__":
    compaction.SETTLE_NS = SETTLE_NS
    merging.SETTLED_NS = 0
    jobs.next_compaction_seconds = lambda host_id, now_ns: 1.0
    asyncio.run(work(sys.argv[1]))
