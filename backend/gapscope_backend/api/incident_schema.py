"""Types of the API's part about incidents."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gapscope_agent.wire import HOST_PATTERN
from gapscope_backend.analysis.language import Text
from gapscope_backend.analysis.verdict import Hotspot, Verdict
from gapscope_backend.api.queries import Lang, Time

MAX_COMMENT = 4000
MAX_NAME = 100


class IncidentsQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which incidents to list: those that touch the span, newest first."""

    host: Annotated[str, Meta(pattern=HOST_PATTERN, max_length=253)] | None = None
    state: Literal["open", "closed"] | None = None
    start: Time | None = msgspec.field(default=None, name="from")
    end: Time | None = msgspec.field(default=None, name="to")
    lang: Lang | None = None
    limit: Annotated[int, Meta(ge=1, le=1000, description="How many of the newest to list.")] = 100


class IncidentRow(msgspec.Struct):
    """One row of an incident's ledger, without its evidence."""

    cause: str
    title: Text
    row_class: str
    gpu_seconds: float
    share: float
    confidence: float
    hotspot: Hotspot | None


class IncidentSpan(msgspec.Struct):
    """A stretch to look at, and what the evidence says of it."""

    from_ms: float
    to_ms: float
    text: Text


class IncidentComment(msgspec.Struct):
    """What somebody wrote to an incident."""

    time: str
    user: str
    text: str


class IncidentAssignment(msgspec.Struct):
    """That somebody gave an incident to a person; ``to`` is empty where it was taken from one."""

    time: str
    user: str
    to: str


class IncidentSummary(msgspec.Struct):
    """An incident in a list. ``end`` is how far it reached so far; ``end_reason`` is recovered or data_ended."""

    id: str
    host: str
    gpus: list[str]
    state: str
    severity: str
    cause: str
    row_class: str
    sentence: Text
    confidence: float
    start: str
    end: str
    end_reason: str
    seconds: float
    lost_gpu_seconds: float
    ledger: list[IncidentRow]
    acknowledged: str | None
    acknowledged_by: str
    comments: int
    assigned_to: str


class IncidentEpisode(msgspec.Struct):
    """A stretch of one GPU in an incident: ``drop``, or ``costly`` for a fault that cost steadily."""

    gpu: str
    kind: str
    from_ms: float
    to_ms: float
    ongoing: bool


class IncidentDetail(msgspec.Struct):
    """An incident whole. ``verdict`` is frozen: of a long incident it covers its newest part, ``ledger`` all of it."""

    summary: IncidentSummary
    spans: list[IncidentSpan]
    episodes: list[IncidentEpisode]
    comments: list[IncidentComment]
    assignments: list[IncidentAssignment]
    pinned_until: str | None
    verdict: Verdict


class CommentRequest(msgspec.Struct, forbid_unknown_fields=True):
    """What to write to an incident."""

    text: Annotated[str, Meta(min_length=1, max_length=MAX_COMMENT)]


class AssignRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The name of the person who looks after an incident; empty for nobody."""

    to: Annotated[str, Meta(max_length=MAX_NAME)]
