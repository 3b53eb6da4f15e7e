"""Errors of the agent: one small tree, so that a caller can tell a fault of the input from a fault of the program."""

from __future__ import annotations

from pathlib import Path


class AgentError(Exception):
    """Root of everything that the agent raises on purpose; the message is meant for the person at the terminal."""


class RecordingError(AgentError):
    """A recording cannot be read or written. Names the file, the line where there is one, and what to do."""

    def __init__(self, path: Path, problem: str, advice: str, line: int | None = None) -> None:
        self.path = path
        self.line = line
        place = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{place}: {problem}. {advice}")


class SourceUnavailableError(AgentError):
    """A source cannot work here and now; the message is one sentence that says why."""


class DriverLostError(SourceUnavailableError):
    """The driver or its GPU went away under a working source (reload, lost GPU): open it again, with back-off."""
