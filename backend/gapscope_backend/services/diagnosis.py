"""The verdict on a span of a host."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Window
from gapscope_backend.errors import UnprocessableError
from gapscope_backend.services.windows import load_window
from gapscope_backend.store.database import Database
from gapscope_backend.store.models import Host

MAX_SPAN_NS = 3600 * 1_000_000_000
AT_ONCE = 2

Answer = TypeVar("Answer")


class Diagnosis:
    """Diagnoses spans, a few at a time: each holds a whole window in memory."""

    def __init__(self, database: Database, analyse: Callable[[Window], Verdict]) -> None:
        self._database = database
        self._analyse = analyse
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def diagnose(self, host: Host, start_ns: int, end_ns: int, *, stored_only: bool = False) -> Verdict:
        """The verdict on [start, end), at most an hour; with ``stored_only`` on its part from the first to the last
        that is stored of the host."""
        _check_length(start_ns, end_ns)
        if stored_only:
            start_ns, end_ns = stored_part(host, start_ns, end_ns)
        async with self._slots:
            window = await load_window(self._database, host, start_ns, end_ns, only_with_gpu=True)
            return await asyncio.to_thread(self._analyse, window)

    async def apply(self, host: Host, start_ns: int, end_ns: int, analyse: Callable[[Window], Answer]) -> Answer:
        """What ``analyse`` makes of the window [start, end), at most an hour; it runs on a thread of its own."""
        _check_length(start_ns, end_ns)
        async with self._slots:
            window = await load_window(self._database, host, start_ns, end_ns)
            return await asyncio.to_thread(analyse, window)

    async def judge(self, window: Window) -> Verdict:
        """The verdict on a window, off the event loop."""
        return await asyncio.to_thread(self._analyse, window)


def stored_part(host: Host, start_ns: int, end_ns: int) -> tuple[int, int]:
    """The part of [start, end) between a host's first and last data; all of it where that is none."""
    first_ns, last_ns = max(start_ns, host.first_data_ns), min(end_ns, host.last_data_ns)
    return (first_ns, last_ns) if first_ns < last_ns else (start_ns, end_ns)


def _check_length(start_ns: int, end_ns: int) -> None:
    if end_ns - start_ns > MAX_SPAN_NS:
        raise UnprocessableError("a diagnosis spans at most one hour; choose a shorter from and to", "from")
