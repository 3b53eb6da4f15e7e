"""Facts of entities that no arithmetic could bear are refused at the door."""

from __future__ import annotations

import pytest

from gapscope_agent.wire import WIRE_VERSION, Batch, Entity, WireError, validate_batch


def batch(entity: Entity) -> Batch:
    return Batch(
        version=WIRE_VERSION,
        host="h",
        run_id="0123456789abcdef0123456789abcdef",
        sequence=0,
        start_ns=1_700_000_000_000_000_000,
        end_ns=1_700_000_001_000_000_000,
        agent_version="0",
        sent_ns=1_700_000_001_000_000_000,
        entities=[entity],
    )


@pytest.mark.parametrize(
    "entity",
    [
        Entity("process:abc", "process"),
        Entity("thread:1", "thread"),
        Entity("core:-1", "core"),
        Entity("gpu:a", "gpu", {"memory_total_bytes": "9" * 5000}),
        Entity("gpu:a", "gpu", {"index": "zero"}),
        Entity("gpu:a", "gpu", {"power_limit_watts": "nan"}),
        Entity("process:1", "process", {"parent_pid": "1e400"}),
    ],
)
def test_impossible_facts_are_refused(entity: Entity) -> None:
    with pytest.raises(WireError, match="entity"):
        validate_batch(batch(entity))


@pytest.mark.parametrize(
    "entity",
    [
        Entity("process:42", "process", {"pid": "42", "command": "python 9e999"}),
        Entity("thread:42/43", "thread", {"tid": "43"}),
        Entity("gpu:a", "gpu", {"memory_total_bytes": "150754820096", "power_limit_watts": "700.0"}),
    ],
)
def test_possible_facts_pass(entity: Entity) -> None:
    validate_batch(batch(entity))
