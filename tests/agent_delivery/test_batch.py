"""Batches: numbered, within every limit, nothing lost between a drain and its batches."""

from __future__ import annotations

import numpy as np

from gapscope_agent import wire
from gapscope_agent.accounting import Ledger
from gapscope_agent.batch import MAX_VALUES, BatchBuilder
from gapscope_agent.derive import Derived, DerivedGroup
from gapscope_agent.reading import Frame, Stacks, ThreadStack

S = 1_000_000_000
START = 1_800_000_000 * S


def group(entity: str, times: np.ndarray[tuple[int], np.dtype[np.int64]], columns: int = 1) -> DerivedGroup:
    names = ["gpu_sm_active_ratio", "gpu_power_watts", "gpu_temperature_celsius"][:columns]
    values = {name: np.linspace(0, 1, times.size) for name in names}
    values[names[0]][-1] = np.nan
    return DerivedGroup(entity, times, values, {names[0]: {times.size - 1: "why"}})


def close(derived: Derived) -> tuple[list[wire.Batch], Ledger]:
    ledger = Ledger()
    batches = BatchBuilder("one", {"rack": "7"}, ledger).close(derived, START)
    for batch in batches:
        wire.decode_groups(wire.decode_batch(wire.encode(batch)))
    return batches, ledger


def test_an_empty_drain_is_no_batch() -> None:
    assert close(Derived([], [], [], []))[0] == []


def test_one_drain_is_one_batch_with_frames_and_stacks_kept_once() -> None:
    frames = [Frame("f", "a.py", 1), Frame("g", "b.py", 2, "x" * 1000)]
    snapshots = [
        Stacks(t=START + n, pid=1, threads=[ThreadStack(tid=2, frames=frames), ThreadStack(tid=3, frames=[])])
        for n in range(3)
    ]
    times = START + np.arange(50) * S // 10
    entities = [wire.Entity("gpu:a", "gpu", {"name": "A"})]
    (batch,), ledger = close(Derived([group("gpu:a", times)], entities, snapshots, []))
    assert (len(batch.samples), len(batch.stacks), len(batch.frames)) == (6, 2, 2)
    assert len(batch.frames[1].source or "") == 300
    assert batch.entities == entities
    assert batch.groups[0].missing == {0: [wire.MissingRun(49, 1, "why")]}
    assert ledger.sampled == 50
    assert batch.accounting == wire.Accounting(sampled=50, buffered=50)


def test_runs_have_their_own_ids_and_batches_count_up() -> None:
    builder = BatchBuilder("one", {}, Ledger())
    times = START + np.arange(2) * S
    numbers = [b.sequence for _ in range(3) for b in builder.close(Derived([group("gpu:a", times)], [], [], []), 0)]
    assert numbers == [0, 1, 2]
    assert builder.run_id != BatchBuilder("one", {}, Ledger()).run_id


def test_a_drain_over_hours_is_cut_into_batches_of_a_minute_and_loses_nothing() -> None:
    hours = START + np.arange(0, 7200, 7, dtype=np.int64) * S
    other = START + np.array([5, 3600], dtype=np.int64) * S
    events = [wire.Event(t=START + 3600 * S, kind="clock_step", text="x" * 9000)]
    batches, ledger = close(Derived([group("gpu:a", hours), group("gpu:b", other)], [], [], events))
    assert len(batches) > 100
    assert all(batch.end_ns - batch.start_ns <= 60 * S for batch in batches)
    assert [b.sequence for b in batches] == list(range(len(batches)))
    back = np.concatenate([wire.decode_matrix(g).times for b in batches for g in b.groups if "gpu:a" in g.entities])
    assert np.array_equal(back, hours)
    assert sum(len(batch.events) for batch in batches) == 1
    assert ledger.sampled == hours.size + other.size


def test_a_drain_with_too_many_values_is_cut_by_count() -> None:
    times = START + np.arange(60_000, dtype=np.int64) * 1_000_000
    groups = [group(f"gpu:{n}", times, columns=3) for n in range(8)]
    batches, ledger = close(Derived(groups, [], [], []))
    assert len(batches) == 2
    assert all(wire.count_values(batch) <= MAX_VALUES for batch in batches)
    assert ledger.sampled == 60_000 * 3 * 8
