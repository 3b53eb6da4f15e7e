"""A running Gapscope for the browser tests, and what is watched on its page."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page

CASES = Path(__file__).parents[3] / "shared" / "cases"
DEMO = Path(__file__).parents[2] / "backend" / "gapscope_backend" / "demo" / "image-service-demo"


@dataclass(frozen=True)
class Served:
    """A running Gapscope: its origin, and the one-time address that it printed."""

    origin: str
    address: str


@contextmanager
def running(data: Path, *options: str) -> Iterator[Served]:
    words = [sys.executable, "-m", "gapscope_backend.cli.main", "up", "--data", str(data), "--port", "0", *options]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield _address(process)
        finally:
            process.terminate()
            process.wait(20)


def _address(process: subprocess.Popen[str]) -> Served:
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        found = re.search(r"(http://127\.0\.0\.1:\d+)(/login#token=\S+)", line)
        if found:
            return Served(found[1], found[1] + found[2])
    pytest.fail(f"gapscope up ended without an address:\n{said}")


@dataclass
class Watched:
    """A page, and everything on it that should not be: console errors, foreign requests, CSP violations."""

    page: Page
    faults: list[str]
