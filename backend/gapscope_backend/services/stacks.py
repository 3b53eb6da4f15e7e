"""Stacks of a span in columns, with frames and stacks interned over all its batches."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import numpy as np

from gapscope_agent.wire import WireFrame
from gapscope_backend.analysis.window import Frame, StackSamples
from gapscope_backend.errors import UnprocessableError
from gapscope_backend.store.database import Database
from gapscope_backend.store.reader import StackBatch, read_stacks

MAX_SAMPLES = 2_000_000

_FLAG = {None: -1, False: 0, True: 1}
Row = tuple[int, int, int, int, int, int]


class _Interner:
    """Rows of samples; batches number frames and stacks for themselves, here they get one numbering."""

    def __init__(self, start_ns: int, end_ns: int) -> None:
        self._start_ns = start_ns
        self._end_ns = end_ns
        self._frames: dict[Frame, int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}
        self._names: dict[tuple[int, int], str] = {}
        self._rows: list[Row] = []

    def add(self, batches: list[StackBatch]) -> None:
        for batch in batches:
            self._add_batch(batch)
        if len(self._rows) > MAX_SAMPLES:
            raise UnprocessableError(
                f"more than {MAX_SAMPLES} stack samples in the span; ask for a shorter one", "from"
            )

    def columns(self) -> StackSamples:
        rows = np.array(sorted(self._rows), dtype=np.int64).reshape(-1, 6)
        return StackSamples(
            times=rows[:, 0],
            pids=rows[:, 1],
            tids=rows[:, 2],
            active=rows[:, 3].astype(np.int8),
            owns_gil=rows[:, 4].astype(np.int8),
            stack=rows[:, 5],
            stacks=tuple(self._stacks),
            frames=tuple(self._frames),
            thread_names=self._names,
        )

    def _add_batch(self, batch: StackBatch) -> None:
        frames = [self._frames.setdefault(_frame(wire), len(self._frames)) for wire in batch.frames]
        stacks = [
            self._stacks.setdefault(tuple(frames[at] for at in stack), len(self._stacks)) for stack in batch.stacks
        ]
        for sample in batch.samples:
            if not self._start_ns <= sample.t < self._end_ns:
                continue
            flags = _FLAG[sample.active], _FLAG[sample.owns_gil]
            self._rows.append((sample.t, sample.pid, sample.tid, *flags, stacks[sample.stack]))
            if sample.thread:
                self._names[sample.pid, sample.tid] = sample.thread


async def load_stacks(database: Database, host_id: int, start_ns: int, end_ns: int) -> StackSamples | None:
    """Stack samples of a host over a span, ascending in time; None where there are none."""
    interner = _Interner(start_ns, end_ns)
    pages = read_stacks(database, host_id, start_ns, end_ns)
    async with aclosing(pages):
        async for page in pages:
            await asyncio.to_thread(interner.add, page)
    stacks = await asyncio.to_thread(interner.columns)
    return stacks if stacks.times.size else None


def _frame(wire: WireFrame) -> Frame:
    return Frame(wire.function, wire.file, wire.line, wire.source)
