"""The agent's way to the side that may look into processes: the helper's socket where there is one, else itself."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
from pathlib import Path
from typing import Protocol

import msgspec

from gapscope_agent.stacks import states
from gapscope_agent.stacks.framing import FramingError, receive, send
from gapscope_agent.stacks.messages import (
    MAX_ANSWER_BYTES,
    MAX_REQUEST_BYTES,
    Answer,
    Facts,
    Refused,
    Request,
    Trace,
    decode_answer,
    encode_message,
)

log = logging.getLogger(__name__)

ANSWER_SECONDS = 10.0
"""Beyond the time for which a request asks to sample."""


class Access(Protocol):
    """Who answers; a call blocks, and calls from several threads run beside one another."""

    def answer(self, request: Request) -> Answer:
        """The answer, or a Refused that says why there is none."""

    def why_not(self) -> str | None:
        """Why nothing could be sampled now; None when all is there."""

    def stop(self) -> None:
        """Let looks that run end early, where that can be done; no more are asked for."""


class HelperAccess:
    """Asks the helper, over one connection a thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._own = threading.local()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()

    def answer(self, request: Request) -> Answer:
        """The helper's answer; a connection that was lost is made anew once."""
        try:
            return self._ask(request)
        except (OSError, FramingError, msgspec.DecodeError) as error:
            log.debug("stack helper: %s", error)
            self._forget()
        try:
            return self._ask(request)
        except (OSError, FramingError, msgspec.DecodeError) as error:
            self._forget()
            return Refused(states.NO_HELPER, self._why(error), final=False)

    def _why(self, error: Exception) -> str:
        if isinstance(error, ConnectionResetError | BrokenPipeError):
            user = os.geteuid()
            return f"the stack helper at {self._path} closed the connection: does it allow user {user} (--allow-user)?"
        reason = getattr(error, "strerror", None) or error
        return f"the stack helper at {self._path} does not answer: {reason}"

    def why_not(self) -> str | None:
        """Whether the helper answers."""
        answer = self.answer(Facts([]))
        return answer.reason if isinstance(answer, Refused) else None

    def stop(self) -> None:
        """Close all connections; looks that run end in the helper by themselves, in seconds."""
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                connection.close()
            self._open.clear()

    def _ask(self, request: Request) -> Answer:
        connection: socket.socket | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            with self._lock:
                self._open.add(connection)
            connection.settimeout(ANSWER_SECONDS)
            connection.connect(str(self._path))
        connection.settimeout(ANSWER_SECONDS + (request.seconds if isinstance(request, Trace) else 0.0))
        send(connection, encode_message(request), MAX_REQUEST_BYTES)
        data = receive(connection, MAX_ANSWER_BYTES)
        if data is None:
            raise ConnectionResetError("closed by the helper")
        return decode_answer(data)

    def _forget(self) -> None:
        connection: socket.socket | None = getattr(self._own, "connection", None)
        self._own.connection = None
        if connection is not None:
            with self._lock:
                self._open.discard(connection)
            connection.close()
