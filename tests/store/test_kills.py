"""Ten kills; ``make soak`` has two hundred."""

from __future__ import annotations

import pytest

from tests.store.kills import parts, run

KILLS, SEED = 5, 20


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_kills_lose_and_double_nothing(engine: str) -> None:
    with parts(engine) as all_parts:
        told = run(all_parts, KILLS, SEED, lambda line: None)
    assert told["batches"] > 0
    assert sum(told[f"kills_of_{name}"] for name in all_parts.names) == KILLS
