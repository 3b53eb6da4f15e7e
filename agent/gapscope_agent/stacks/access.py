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
FAULTS = (OSError, FramingError, msgspec.DecodeError)


class Access(Protocol):
    """Who answers; a call blocks, and calls from several threads run beside one another."""

    def answer(self, request: Request) -> Answer:
        """The answer, or a Refused that says why there is none."""

    def why_not(self) -> str | None:
        """Why nothing could be sampled now; None when all is there."""

    def stop(self) -> None:
        """Let looks that run end early, where that can be done; no more are asked for."""


class HelperAccess:
    """Asks the helper; a connection serves one request at a time, and is used again for later ones."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._idle: list[socket.socket] = []
        self._busy: set[socket.socket] = set()

    def answer(self, request: Request) -> Answer:
        """The helper's answer; where a connection from before turns out to be dead, a new one is tried once."""
        connection = self._take()
        if connection is not None:
            try:
                return self._ask(connection, request)
            except FAULTS as error:
                log.debug("stack helper: %s", error)
        try:
            return self._ask(self._connect(), request)
        except FAULTS as error:
            return Refused(states.NO_HELPER, self._why(error), final=False)

    def why_not(self) -> str | None:
        """Whether the helper answers."""
        answer = self.answer(Facts([]))
        return answer.reason if isinstance(answer, Refused) else None

    def stop(self) -> None:
        """Close all connections; looks that run end in the helper by themselves, in seconds."""
        with self._lock:
            for connection in self._idle:
                connection.close()
            self._idle.clear()
            for connection in self._busy:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _take(self) -> socket.socket | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(ANSWER_SECONDS)
            connection.connect(str(self._path))
        except OSError:
            connection.close()
            raise
        return connection

    def _ask(self, connection: socket.socket, request: Request) -> Answer:
        with self._lock:
            self._busy.add(connection)
        good = False
        try:
            connection.settimeout(ANSWER_SECONDS + (request.seconds if isinstance(request, Trace) else 0.0))
            send(connection, encode_message(request), MAX_REQUEST_BYTES)
            data = receive(connection, MAX_ANSWER_BYTES)
            if data is None:
                raise ConnectionResetError("closed by the helper")
            answer = decode_answer(data)
            good = True
        finally:
            with self._lock:
                self._busy.discard(connection)
                if good:
                    self._idle.append(connection)
            if not good:
                connection.close()
        return answer

    def _why(self, error: Exception) -> str:
        if isinstance(error, ConnectionResetError | BrokenPipeError):
            user = os.geteuid()
            return f"the stack helper at {self._path} closed the connection: does it allow user {user} (--allow-user)?"
        reason = getattr(error, "strerror", None) or error
        return f"the stack helper at {self._path} does not answer: {reason}"
