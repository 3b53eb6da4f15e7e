"""``gapscope stack-helper``: answers the agent's requests on a unix socket, and nobody else's.

A peer is let in by its user (SO_PEERCRED), before a byte of it is read. It sends one request at a time; a request
that is none ends its connection. Nothing that a peer can send makes this side write a file, send a signal to another
process or open a network socket.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import stat
import struct
import threading
import time
from collections.abc import Collection
from pathlib import Path

import msgspec

from gapscope_agent.errors import AgentError
from gapscope_agent.stacks.framing import FramingError, receive, send
from gapscope_agent.stacks.messages import MAX_ANSWER_BYTES, MAX_REQUEST_BYTES, decode_request, encode_message
from gapscope_agent.stacks.service import StackService

MAX_CONNECTIONS = 64
IDLE_SECONDS = 300.0
END_SECONDS = 5.0
DEFAULT_SOCKET = Path("/run/gapscope/stacks.sock")

log = logging.getLogger(__name__)


class HelperError(AgentError):
    """The helper cannot listen."""


class Helper:
    """Listens on ``path`` for processes of the users ``allowed``."""

    def __init__(self, path: Path, allowed: Collection[int], service: StackService) -> None:
        self._path = path
        self._allowed = frozenset(allowed)
        self._service = service
        self._places = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._listening: socket.socket | None = None
        self._lock = threading.Lock()
        self._peers: dict[socket.socket, threading.Thread] = {}
        self._stopping = False

    def listen(self) -> None:
        """Bind the socket; others than the allowed users are refused at the door, so anyone may knock."""
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if self._path.exists() and stat.S_ISSOCK(self._path.stat().st_mode):
                self._path.unlink()
            listening.bind(str(self._path))
            self._path.chmod(0o666)
            listening.listen(MAX_CONNECTIONS)
        except OSError as error:
            listening.close()
            raise HelperError(f"{self._path}: cannot listen ({error.strerror or error})") from error
        self._listening = listening

    def serve(self) -> None:
        """Take connections until ``stop``, each on a thread of its own."""
        assert self._listening is not None
        while not self._stopping:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                break
            if self._stopping or not self._admit(connection):
                connection.close()
                continue
            thread = threading.Thread(target=self._talk, args=(connection,), name="peer", daemon=True)
            with self._lock:
                self._peers[connection] = thread
            thread.start()
        self._end_peers()

    def stop(self) -> None:
        """End ``serve`` and take the socket away."""
        self._stopping = True
        if self._listening is not None:
            self._listening.shutdown(socket.SHUT_RDWR)
            self._listening.close()
        self._path.unlink(missing_ok=True)

    def _end_peers(self) -> None:
        """Let looks that run end, so that no py-spy is left behind."""
        self._service.stop()
        with self._lock:
            peers = list(self._peers.items())
        for connection, _ in peers:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        until = time.monotonic() + END_SECONDS
        for _, thread in peers:
            thread.join(max(0.0, until - time.monotonic()))

    def _admit(self, connection: socket.socket) -> bool:
        pid, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if user not in self._allowed:
            log.warning("refused process %d of user %d", pid, user)
            return False
        if not self._places.acquire(blocking=False):
            log.warning("refused process %d: %d connections are open", pid, MAX_CONNECTIONS)
            return False
        return True

    def _talk(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.settimeout(IDLE_SECONDS)
                while (data := receive(connection, MAX_REQUEST_BYTES)) is not None:
                    answer = encode_message(self._service.answer(decode_request(data)))
                    send(connection, answer, MAX_ANSWER_BYTES)
        except (FramingError, msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError) as error:
            log.warning("a connection ended: %s", error)
        finally:
            with self._lock:
                self._peers.pop(connection, None)
            self._places.release()


def default_users() -> frozenset[int]:
    """Who may ask where nobody is named: this process's own user, and root."""
    return frozenset({os.geteuid(), 0})
