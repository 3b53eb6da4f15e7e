"""Ten kills around delivery; ``make soak`` has two hundred."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.delivery.kills import run_on

SEED = 7


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("engine", "kills"), [("sqlite", 6), ("postgresql", 4)])
def test_kills_lose_nothing_and_repeat_once_at_most(tmp_path: Path, engine: str, kills: int) -> None:
    said: list[str] = []
    told = run_on(engine, tmp_path, kills, SEED, said.append)
    assert len(said) == kills
    assert told["messages"] > kills
    assert told["lost"] == 0
    assert told["hit"] > 0
