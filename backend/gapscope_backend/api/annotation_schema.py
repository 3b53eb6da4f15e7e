"""Types of the API's part about annotations."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from gapscope_backend.api.queries import SpanQuery, Time

MAX_TEXT = 1000


class AnnotationsQuery(SpanQuery, kw_only=True):
    """Which annotations to list: the newest of those that touch the span, oldest first."""

    limit: Annotated[int, Meta(ge=1, le=1000, description="How many of the newest to list.")] = 200


class AnnotationRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A note on a moment, or on a span where ``to`` is given."""

    at: Time
    text: Annotated[str, Meta(min_length=1, max_length=MAX_TEXT)]
    to: Time | None = None
    kind: Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9_]{0,63}\Z", description="For example note, deploy.")] = "note"


class AnnotationInfo(msgspec.Struct):
    """An annotation; ``to_ms`` is ``at_ms`` where it is on a moment."""

    id: str
    at_ms: float
    to_ms: float
    kind: str
    text: str
    made: str
    made_by: str
