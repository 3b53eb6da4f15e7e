"""Messages on a stream: four bytes of length, big-endian, then so many bytes; never more than the reader allows."""

from __future__ import annotations

import socket

from gapscope_agent.errors import AgentError


class FramingError(AgentError):
    """What came is no message, or one that is too large."""


def send(connection: socket.socket, data: bytes, limit_bytes: int) -> None:
    """Send one message. Raises OSError, and FramingError when it is too large to be taken."""
    if len(data) > limit_bytes:
        raise FramingError(f"a message of {len(data)} bytes; at most {limit_bytes} are sent")
    connection.sendall(len(data).to_bytes(4, "big") + data)


def receive(connection: socket.socket, limit_bytes: int) -> bytes | None:
    """The next message; None when the other side closed between two. Raises FramingError and OSError."""
    head = _exactly(connection, 4)
    if head is None:
        return None
    length = int.from_bytes(head, "big")
    if not 0 < length <= limit_bytes:
        raise FramingError(f"a message of {length} bytes was announced; 1 to {limit_bytes} are taken")
    data = _exactly(connection, length)
    if data is None:
        raise FramingError("the other side closed in the middle of a message")
    return data


def _exactly(connection: socket.socket, count: int) -> bytes | None:
    parts: list[bytes] = []
    missing = count
    while missing:
        part = connection.recv(min(missing, 1 << 16))
        if not part:
            if parts:
                raise FramingError("the other side closed in the middle of a message")
            return None
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
