"""Batches of one agent."""

from __future__ import annotations

import pytest

from tests.backend.batches import BatchMaker


@pytest.fixture
def maker() -> BatchMaker:
    return BatchMaker()
