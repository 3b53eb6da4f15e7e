"""Who waits for whom: threads for threads, ranks for ranks, host and GPU for each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.analysis.window import Frame, Series, Window
from tests.analysis.variants import Stack, frames, map_stacks

pytestmark = pytest.mark.cases
Recorded = Callable[[str], Window]


def _constant(window: Window, entity: str, metric: str, value: float) -> Window:
    series = window.series[entity, metric]
    return replace(
        window, series={**window.series, (entity, metric): Series(series.times, np.full(series.times.size, value))}
    )


def _share(verdict: Verdict, gpu: int, cause: str) -> float:
    return next((row.share for row in verdict.gpus[gpu].ledger if row.cause == cause), 0.0)


def _of_threads(window: Window, change: Callable[[Stack], Stack], tids: set[int]) -> Window:
    """Only the stacks of some threads changed: they get stacks of their own first."""
    stacks = window.stacks
    assert stacks is not None
    mine = np.isin(stacks.tids, sorted(tids))
    marker = Frame("marked", "marked", 0)
    numbers = (*stacks.stacks, *((*stack, len(stacks.frames)) for stack in stacks.stacks))
    marked = replace(stacks, frames=(*stacks.frames, marker), stacks=numbers,
                     stack=np.where(mine, stacks.stack + len(stacks.stacks), stacks.stack))  # fmt: skip

    def only_marked(stack: Stack) -> Stack:
        return change(stack[:-1]) if stack and stack[-1] == marker else stack

    return map_stacks(replace(window, stacks=marked), only_marked)


def test_a_thread_that_reads_for_the_feeding_thread(recorded: Recorded) -> None:
    window = recorded("image-service-batch-window")
    stacks = window.stacks
    assert stacks is not None
    producers = {int(tid) for tid in np.unique(stacks.tids)} - {window.gpus[0].owners[0]}
    reading = frames("ssl.py:SSLSocket.read", "http/client.py:readinto", "urllib3/response.py:read")
    assert diagnose(_of_threads(window, lambda stack: reading + stack, producers)).verdict == "io_wait"
    serving = frames("socket.py:readinto", "http/server.py:handle", "socketserver.py:serve_forever")
    assert diagnose(_of_threads(window, lambda stack: serving + stack, producers)).verdict == "upstream_wait"


def test_a_rank_that_waits_for_one_with_more_work_on_its_gpu(recorded: Recorded) -> None:
    window = recorded("ddp-straggler")
    slow = window.gpus[1].key
    busy = _constant(_constant(window, slow, "gpu_graphics_active_ratio", 1.0), slow, "gpu_sm_active_ratio", 0.9)
    assert _share(diagnose(busy), 0, "straggler") == pytest.approx(0.72, abs=0.05)
    apart = {k: s for k, s in busy.series.items() if not k[1].startswith("nvlink")}
    assert _share(diagnose(replace(busy, series=apart)), 0, "straggler") == 0.0


def test_a_rank_that_waits_in_a_collective_on_the_cpu(recorded: Recorded) -> None:
    window = recorded("ddp-straggler")
    fast, owner = window.gpus[0], window.gpus[0].owners[0]
    idle = _constant(window, fast.key, "gpu_graphics_active_ratio", 0.1)
    waits = _of_threads(idle, lambda _: frames("torch/distributed/distributed_c10d.py:barrier"), {owner})
    assert _share(diagnose(waits), 0, "straggler") > 0.6


def test_ranks_are_known_by_their_traffic_where_the_tree_is_not(recorded: Recorded) -> None:
    window = recorded("ddp-straggler")
    bare = replace(window, processes=())
    assert diagnose(bare).gpus[0].verdict == "straggler"
    silent = {k: s for k, s in bare.series.items() if not k[1].startswith("nvlink")}
    assert diagnose(replace(bare, series=silent)).gpus[0].verdict == "gpu_side"


def test_launches_that_would_hide_behind_the_gpu_wait_for_results(recorded: Recorded) -> None:
    """Half of its time the thread launches, half it waits; with the GPU busy for most of it only the waits cost."""
    window = recorded("decode-small-eager")
    stacks = window.stacks
    assert stacks is not None
    shown = frames("torch/_tensor_str.py:_str_intern")
    number = len(stacks.stacks)
    frame = len(stacks.frames)
    turns = np.arange(stacks.times.size) % 2 == 0
    alternating = replace(stacks, frames=stacks.frames + shown, stacks=(*stacks.stacks, (frame,)),
                          stack=np.where(turns, number, stacks.stack))  # fmt: skip
    mixed = replace(window, stacks=alternating)
    busy = _constant(mixed, window.gpus[0].key, "gpu_graphics_active_ratio", 0.7)
    busy = _constant(busy, window.gpus[0].key, "gpu_sm_active_ratio", 0.6)
    assert _share(diagnose(busy), 0, "sync_points") > 0.25
    assert _share(diagnose(busy), 0, "launch_bound") < 0.05
