"""Errors of commands: shown as one line, with exit code 2."""

from __future__ import annotations

from gapscope_backend.errors import BackendError


class UsageError(BackendError):
    """The command was called in a way that cannot work; the message says how it can."""


class ServerAnswerError(BackendError):
    """The server cannot be reached, refused, or answered something that cannot be read."""
