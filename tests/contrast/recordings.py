"""Recorded windows for the tests of what is built on a verdict: cases beside the project, and the bundled recording."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from gapscope_backend.analysis.window import Window
from gapscope_backend.cli.windows import window_of_recording

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT.parent / "shared" / "cases"
DEMO = ROOT / "backend" / "gapscope_backend" / "demo" / "image-service-demo"


@lru_cache(maxsize=32)
def _load(folder: Path) -> Window:
    return window_of_recording(folder)


def case_folder(name: str) -> Path:
    if not (CASES / name).is_dir():
        pytest.skip("no recorded cases beside the project")
    return CASES / name


def recorded(name: str) -> Window:
    return _load(case_folder(name))


def bundled() -> Window:
    return _load(DEMO)
