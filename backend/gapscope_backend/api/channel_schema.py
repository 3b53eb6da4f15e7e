"""Types of the API's part about channels and what was sent through them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gapscope_backend.alerts.channels.kind import MAX_HEARTBEAT_SECONDS
from gapscope_backend.alerts.egress import MAX_URL

ChannelKindName = Literal["webhook", "slack", "feishu", "dingtalk", "pagerduty", "alertmanager"]
DeliveryState = Literal["pending", "delivered", "failed", "superseded"]
DeliveryKind = Literal["firing", "resolved", "test", "heartbeat"]
Secret = Annotated[str, Meta(min_length=8, max_length=256)]


class ChannelRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How a channel is to be.

    Left out, ``url``, ``headers`` and ``secret`` stay as they are. A webhook's secret is made by the server unless one
    is given; the others' come from their targets.
    """

    kind: ChannelKindName
    name: Annotated[str, Meta(max_length=100)] = ""
    enabled: bool = True
    url: Annotated[str, Meta(max_length=MAX_URL)] | None = None
    headers: Annotated[dict[str, str], Meta(max_length=16)] | None = None
    secret: Secret | None = None
    language: Literal["en", "zh-Hans"] = "en"
    heartbeat_seconds: Annotated[int, Meta(ge=0, le=MAX_HEARTBEAT_SECONDS)] = 0
    alerts: bool = True


class SecretRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A new secret; null has one made, for a webhook."""

    secret: Secret | None = None


class DeliveriesQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which messages to list, newest first; heartbeats only where ``kind`` asks for them."""

    channel: Annotated[str, Meta(max_length=64)] | None = None
    state: DeliveryState | None = None
    kind: DeliveryKind | None = None
    limit: Annotated[int, Meta(ge=1, le=1000, description="How many of the newest to list.")] = 200


class AttemptInfo(msgspec.Struct):
    """An attempt: ``status`` of the answer (null: none came), and what went wrong (empty: nothing)."""

    at: str
    status: int | None
    error: str
    milliseconds: float | None


class DeliveryInfo(msgspec.Struct):
    """A message to a channel. ``message_id`` is what was sent as ``webhook-id``; ``due``: when it is tried next."""

    id: str
    message_id: str
    channel: str
    kind: DeliveryKind
    state: DeliveryState
    group_key: str
    sentence: str
    alerts: list[str]
    created: str
    due: str | None
    done: str | None
    attempts: int
    log: list[AttemptInfo]
    resend_of: str | None


class DeliveryDetail(DeliveryInfo):
    """The same with all that it tells."""

    message: dict[str, Any]


class ChannelInfo(msgspec.Struct):
    """A channel. Of its address the host is told, of headers their names, of secrets how many there are.

    Two secrets: messages are signed under both. ``last`` is the newest message to it that was no heartbeat.
    """

    id: str
    kind: ChannelKindName
    name: str
    enabled: bool
    url: str
    header_names: list[str]
    secrets: int
    language: str
    heartbeat_seconds: int
    alerts: bool
    origin: str
    revision: int
    updated: str
    last: DeliveryInfo | None


class ChannelKept(msgspec.Struct):
    """A channel as it is kept now; ``secret`` was made for it and is told this once."""

    channel: ChannelInfo
    secret: str | None


class SecretMade(msgspec.Struct):
    """The secret that was made, told this once; null where it was given."""

    secret: str | None
