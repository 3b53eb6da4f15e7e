"""The server of tests/backend."""

from tests.backend.conftest import backend, clock

__all__ = ["backend", "clock"]
