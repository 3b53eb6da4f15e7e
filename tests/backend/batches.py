"""Batches of known content, a clock that tests set, and a verdict that tells what it was made of."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gapscope_agent.wire import (
    WIRE_VERSION,
    Accounting,
    Batch,
    Entity,
    Event,
    Group,
    StackSample,
    WireFrame,
    encode_group,
)
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import LedgerRow, Verdict
from gapscope_backend.analysis.window import Window

SECOND = 1_000_000_000
TICK = SECOND // 10
NOW = 1_796_000_000 * SECOND
GPU = "gpu:GPU-1"
Floats = npt.NDArray[np.float64]


@dataclass
class Clock:
    """A clock that tests set."""

    now_ns: int = NOW

    def __call__(self) -> int:
        return self.now_ns

    def monotonic(self) -> float:
        return self.now_ns / 1e9

    def advance(self, seconds: float) -> None:
        self.now_ns += int(seconds * SECOND)


@dataclass
class BatchMaker:
    """Batches of one agent's run."""

    host: str = "node-1"
    run_id: str = "run-0000-0001"
    numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def make(
        self,
        start_ns: int,
        end_ns: int,
        groups: list[Group],
        *,
        entities: list[Entity] | None = None,
        sequence: int | None = None,
        stacks: Sequence[tuple[int, int, int, bool | None, list[WireFrame]]] = (),
        events: list[Event] | None = None,
        recorded: bool = False,
    ) -> Batch:
        batch = Batch(
            version=WIRE_VERSION,
            host=self.host,
            run_id=self.run_id,
            sequence=next(self.numbers) if sequence is None else sequence,
            start_ns=start_ns,
            end_ns=end_ns,
            agent_version="0.1.0",
            sent_ns=end_ns,
            recorded=recorded,
            entities=entities or [],
            groups=groups,
            events=events or [],
            accounting=Accounting(sampled=5),
        )
        for number, (t, pid, tid, active, frames) in enumerate(stacks):
            first = len(batch.frames)
            batch.frames += frames
            batch.stacks.append(list(range(first, first + len(frames))))
            batch.samples.append(
                StackSample(t, pid, tid, "MainThread" if pid == tid else "Thread-1", active, None, number)
            )
        return batch


def group(entity: str, start_ns: int, step_ns: int, **columns: Floats) -> Group:
    """A group whose columns begin at ``start_ns``, a value each ``step_ns``."""
    count = len(next(iter(columns.values())))
    return encode_group(entity, start_ns + np.arange(count, dtype=np.int64) * step_ns, columns)


def gpu_entity(owners: str = "100") -> Entity:
    labels = {
        "index": "0",
        "name": "NVIDIA H200",
        "uuid": "GPU-1",
        "memory_total_bytes": "150754820096",
        "power_limit_watts": "700",
        "max_sm_clock_hertz": "1980000000",
        "pcie_max_generation": "5",
        "pcie_max_width": "16",
        "owners": owners,
    }
    return Entity(GPU, "gpu", labels)


def standard_entities() -> list[Entity]:
    return [
        Entity("host", "host", {"logical_cpus": "16", "kernel": "6.1"}),
        gpu_entity(),
        Entity("process:100", "process", {"parent_pid": "1", "command": "python serve.py", "user": "ml"}),
        Entity("thread:100/100", "thread", {"name": "MainThread"}),
        Entity("core:0", "core"),
        Entity("core:1", "core"),
    ]


def fake_verdict(window: Window) -> Verdict:
    """A verdict that tells what window it was made of."""
    total = len(window.gpus) * window.seconds
    row = LedgerRow("healthy", Text("Busy"), "good", total, 1.0)
    title = Text("{count} series", count=len(window.series))
    return Verdict(
        window.host,
        window.start_ns,
        window.end_ns,
        len(window.gpus),
        "healthy",
        title,
        Text("All is well."),
        0.9,
        1.5,
        (row,),
        (),
    )
