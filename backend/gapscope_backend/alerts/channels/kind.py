"""What a kind of channel is: how it writes a message for its target, and how it reads what the target answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gapscope_backend.alerts.message import Message

JSON_TYPE = {"Content-Type": "application/json"}
MIN_HEARTBEAT_SECONDS = 30
MAX_HEARTBEAT_SECONDS = 86_400


class Settings(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a channel is told besides its secret.

    ``headers`` go along with each request. With ``heartbeat_seconds`` it gets a heartbeat that often (0: none).
    Without ``alerts`` it gets nothing else.
    """

    url: Annotated[str, Meta(max_length=2048)] = ""
    language: Literal["en", "zh-Hans"] = "en"
    headers: Annotated[dict[str, str], Meta(max_length=16)] = {}
    heartbeat_seconds: Annotated[int, Meta(ge=0, le=MAX_HEARTBEAT_SECONDS)] = 0
    alerts: bool = True


class SecretUse(Enum):
    """Whose the secret of a channel is: made here, given by the target, given where the target asks for it, or none."""

    MADE = "made"
    GIVEN = "given"
    OPTIONAL = "optional"
    NONE = "none"


@dataclass(frozen=True)
class Envelope:
    """What goes with a message: its id, the channel's ``secrets`` (newest first), when it was made and when it goes."""

    id: str
    channel: str
    settings: Settings
    secrets: tuple[str, ...]
    made_ns: int
    now_ns: int


@dataclass(frozen=True)
class Outgoing:
    """A request, ready to be sent by POST."""

    url: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: JSON_TYPE)


def accepts_all(_body: bytes) -> str:
    """For targets whose status says it all."""
    return ""


@dataclass(frozen=True)
class ChannelKind:
    """``build`` writes a request; ``refusal`` says what an answer of 2xx refuses nevertheless (empty: nothing).

    ``own_url`` is where all channels of the kind go unless told otherwise. ``heartbeats`` and ``headers`` tell whether
    it takes such.
    """

    name: str
    build: Callable[[Message, Envelope], Outgoing]
    secret: SecretUse
    refusal: Callable[[bytes], str] = accepts_all
    own_url: str = ""
    heartbeats: bool = False
    headers: bool = False


def encode(body: Any) -> bytes:
    """JSON, with what is no text as question marks."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def answered(body: bytes) -> dict[str, Any]:
    """An answer's JSON object; empty for anything else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
