"""Batches, a clock, and an application on a database; and a file with one closed and one open incident."""

from __future__ import annotations

from tests.backend.conftest import analyse, backend, clock, maker

__all__ = ["analyse", "backend", "clock", "maker"]
