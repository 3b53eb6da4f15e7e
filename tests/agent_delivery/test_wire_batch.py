"""The door of the backend: whole batches in, everything else refused with what and where."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from gapscope_agent import wire

Make = Callable[..., wire.Batch]


def test_a_batch_comes_back_as_it_was_sent(make_batch: Make) -> None:
    batch = make_batch()
    batch.frames = [wire.WireFrame("f", "a.py", 3), wire.WireFrame("g", "b.py", 4, "x = 1")]
    batch.stacks = [[1, 0], []]
    batch.samples = [wire.StackSample(batch.start_ns, 1, 2, "main", True, None, 1)]
    batch.entities = [wire.Entity("gpu:GPU-a", "gpu", {"name": "A"})]
    batch.events = [wire.Event(t=batch.start_ns, kind="note", text="hello")]
    assert wire.decode_batch(wire.encode(batch)) == batch


def broken(batch: wire.Batch, **changes: Any) -> bytes:
    return wire.encode(msgspec.structs.replace(batch, **changes))


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"host": "../etc"}, "host"),
        ({"host": ""}, "host"),
        ({"host": "a" * 254}, "host"),
        ({"host": "name\n"}, "host"),
        ({"run_id": "x"}, "run_id"),
        ({"sequence": -1}, "sequence"),
        ({"end_ns": 1_800_000_000_000_000_000}, "span"),
        ({"end_ns": 1_800_000_000_000_000_000 + wire.MAX_SPAN_NS + 1}, "span"),
        ({"start_ns": -5}, "start_ns"),
        ({"start_ns": 1 << 63}, "start_ns"),
        ({"labels": {"a": "b" * 5000}}, "labels"),
        ({"entities": [wire.Entity("planet:mars", "planet")]}, "planet:mars"),
        ({"entities": [wire.Entity("gpu:x", "host")]}, "does not match"),
        ({"entities": [wire.Entity("host:x", "host")]}, "host:x"),
        ({"entities": [wire.Entity("gpu:", "gpu")]}, "gpu:"),
        ({"stacks": [[0]]}, "frame index"),
        ({"events": [wire.Event(t=1, kind="k", text="t")]}, "event k"),
        ({"samples": [wire.StackSample(1_800_000_000_000_000_000, 1, 2, None, None, None, 0)]}, "stack 0 is not in"),
    ],
)
def test_what_breaks_the_contract_is_refused_by_name(make_batch: Make, changes: dict[str, Any], what: str) -> None:
    with pytest.raises(wire.WireError, match=what):
        wire.decode_batch(broken(make_batch(), **changes))


def test_another_version_is_told_apart(make_batch: Make) -> None:
    with pytest.raises(wire.WireVersionError, match="version 3"):
        wire.decode_batch(broken(make_batch(), version=3))


@pytest.mark.parametrize("metric", ["gpu_made_up_ratio", "cpu_busy_cores"])
def test_a_metric_that_the_entity_cannot_have_is_refused(make_batch: Make, metric: str) -> None:
    batch = make_batch()
    batch.groups[0].metrics[0] = metric
    with pytest.raises(wire.WireError, match=metric):
        wire.decode_batch(wire.encode(batch))


def test_a_column_twice_is_refused(make_batch: Make) -> None:
    batch = make_batch()
    batch.groups[0].metrics *= 2
    with pytest.raises(wire.WireError, match="twice"):
        wire.decode_batch(wire.encode(batch))


def test_times_outside_the_span_are_refused(make_batch: Make) -> None:
    batch = wire.decode_batch(broken(make_batch(), end_ns=1_800_000_000_500_000_000))
    with pytest.raises(wire.WireError, match="span"):
        wire.decode_groups(batch)


def test_too_many_announced_values_are_refused_before_any_is_decoded(make_batch: Make) -> None:
    batch = make_batch()
    bomb = msgspec.structs.replace(batch.groups[0], count=wire.MAX_POINTS_PER_GROUP)
    batch.groups = [bomb] * (wire.MAX_VALUES_PER_BATCH // wire.MAX_POINTS_PER_GROUP + 1)
    with pytest.raises(wire.WireError, match="values announced"):
        wire.decode_batch(wire.encode(batch))


def test_a_payload_over_the_limit_is_refused_unread() -> None:
    with pytest.raises(wire.WireError, match="bytes"):
        wire.decode_batch(b"\x00" * (wire.MAX_BATCH_BYTES + 1))


def test_the_densest_lists_do_not_explode(make_batch: Make) -> None:
    packed = wire.encode(make_batch())
    head, tail = packed.split(b"\xa6stacks\x90")
    payload = head + b"\xa6stacks\xdd" + (7_000_000).to_bytes(4, "big") + b"\x90" * 7_000_000 + tail
    tracemalloc.start()
    try:
        with pytest.raises(wire.WireError, match="stacks"):
            wire.decode_batch(payload)
        assert tracemalloc.get_traced_memory()[1] < 64 * 1024 * 1024
    finally:
        tracemalloc.stop()


def test_truncated_and_flipped_payloads_are_refused_or_still_keep_the_contract(make_batch: Make) -> None:
    payload = wire.encode(make_batch(values=50))
    chance = random.Random(3)
    refused = 0
    for _ in range(1500):
        data = bytearray(payload[: chance.randrange(len(payload))] if chance.random() < 0.3 else payload)
        for _ in range(chance.randrange(4) if data else 0):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            for group in wire.decode_groups(wire.decode_batch(bytes(data))):
                assert (np.diff(group.times) > 0).all()
        except wire.WireError:
            refused += 1
    assert refused > 700


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(wire.WireError):
        wire.decode_batch(b"\x81\xa1a" + b"\x91" * 200_000)
    with pytest.raises(wire.WireError):
        wire.decode_live_frame(b"\x91" * 200_000)
