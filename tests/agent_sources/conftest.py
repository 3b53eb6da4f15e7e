"""Fixtures of the stand-ins."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent_sources.fakes import FakeClock, FakeNvml, FakeProc


@pytest.fixture
def nvml() -> FakeNvml:
    return FakeNvml()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    root = tmp_path / "proc"
    root.mkdir()
    return FakeProc(root)
