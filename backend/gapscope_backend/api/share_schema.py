"""Types of the API's part about shares."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gapscope_agent.wire import HOST_PATTERN
from gapscope_backend.api.queries import Time

MAX_VIEW = 2000
MAX_DAYS = 365
PUBLIC_DAYS = 90
"""A public link lives no longer."""

HostName = Annotated[str, Meta(pattern=HOST_PATTERN, max_length=253)]


class SharesQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which shares to list, newest first."""

    incident: Annotated[str, Meta(max_length=32)] | None = None
    host: HostName | None = None
    limit: Annotated[int, Meta(ge=1, le=1000, description="How many of the newest to list.")] = 200


class ShareRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What to share: an incident, or a span of a host.

    ``view`` is the query with which the page opens. Without ``public`` whoever opens the link must log in.
    """

    incident: Annotated[str, Meta(min_length=1, max_length=32)] | None = None
    host: HostName | None = None
    start: Time | None = msgspec.field(default=None, name="from")
    end: Time | None = msgspec.field(default=None, name="to")
    view: Annotated[str, Meta(max_length=MAX_VIEW)] = ""
    public: bool = False
    days: Annotated[int, Meta(ge=1, le=MAX_DAYS)] | None = None


class ShareInfo(msgspec.Struct):
    """A share in a list; its link is not known any more. ``incident`` is null for a span."""

    id: str
    host: str
    incident: str | None
    start: str
    end: str
    public: bool
    state: Literal["live", "expired", "revoked"]
    made: str
    made_by: str
    expires: str
    revoked: str | None
    size_bytes: int


class ShareMade(msgspec.Struct):
    """A new share; its link is shown this once. ``path`` is that of the page."""

    share: ShareInfo
    link: str
    path: str


class ShareView(msgspec.Struct):
    """What a link shows: [start, end) of a host and, unless null, the incident in it.

    ``first_data`` and ``last_data`` bound what is in it. ``made_by`` is null for a public link.
    """

    host: str
    incident: str | None
    start: str
    end: str
    first_data: str
    last_data: str
    view: str
    public: bool
    made: str
    made_by: str | None
    expires: str
