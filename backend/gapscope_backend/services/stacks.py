"""Stacks of a span in columns, with frames and stacks interned over all its batches."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace

import numpy as np

from gapscope_agent.wire import WireFrame
from gapscope_backend.analysis.window import Frame, StackSamples
from gapscope_backend.errors import UnprocessableError
from gapscope_backend.store.chunks.stacks import Frames, StackTable, join_stacks
from gapscope_backend.store.database import Database
from gapscope_backend.store.reader import read_stacks

MAX_SAMPLES = 2_000_000


async def load_stacks(database: Database, host_id: int, start_ns: int, end_ns: int) -> StackSamples | None:
    """Stack samples of a host over a span, ascending in time; None where there are none.

    Raises UnprocessableError for more than one answer can hold.
    """
    tables: list[StackTable[Frames]] = []
    held = 0
    async with aclosing(read_stacks(database, host_id, start_ns, end_ns)) as pages:
        async for table in pages:
            low, high = np.searchsorted(table.rows[:, 0], (start_ns, end_ns)).tolist()
            tables.append(replace(table, rows=table.rows[low:high]))
            held += high - low
            if held > MAX_SAMPLES:
                raise UnprocessableError(
                    f"more than {MAX_SAMPLES} stack samples in the span; ask for a shorter one", "from"
                )
    return await asyncio.to_thread(_columns, tables) if held else None


def _columns(tables: list[StackTable[Frames]]) -> StackSamples:
    """The samples of all tables, with frames and stacks in one numbering."""
    joined = join_stacks(tables)
    numbers: dict[WireFrame, int] = {}
    stacks = tuple(tuple(numbers.setdefault(wire, len(numbers)) for wire in stack) for stack in joined.stacks)
    rows = joined.rows
    return StackSamples(
        times=rows[:, 0],
        pids=rows[:, 1],
        tids=rows[:, 2],
        active=rows[:, 3].astype(np.int8),
        owns_gil=rows[:, 4].astype(np.int8),
        stack=rows[:, 5],
        stacks=stacks,
        frames=tuple(Frame(wire.function, wire.file, wire.line, wire.source) for wire in numbers),
        thread_names=dict(joined.names),
    )
