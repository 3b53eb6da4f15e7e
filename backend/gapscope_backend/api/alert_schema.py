"""Types of the API's part about alerts, their rules and silences."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gapscope_backend.analysis.language import Text
from gapscope_backend.api.queries import LanguageQuery, Time

MAX_REASON = 500
AlertState = Literal["pending", "firing", "resolved"]


class RuleInfo(msgspec.Struct):
    """A rule: ``spec`` as a file would say it. ``origin``: ``default``, ``file``, or ``api`` for a person's."""

    id: str
    name: str
    kind: str
    about: str
    severity: str
    enabled: bool
    origin: str
    spec: dict[str, Any]
    revision: int
    updated: str
    updated_by: str


class RuleRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A rule as a file would say it, without its name."""

    spec: dict[str, Any]


class PreviewRequest(msgspec.Struct, forbid_unknown_fields=True, rename={"start": "from", "end": "to"}):
    """A rule and the span over which it is tried; the last day where none is given."""

    spec: dict[str, Any]
    start: Time = "now-24h"
    end: Time = "now"


class PreviewFired(msgspec.Struct):
    """One time that a rule would have fired; ``ended`` is null where it would still."""

    host: str
    subject: str
    cause: str
    sentence: Text
    began: str
    fired: str
    ended: str | None


class PreviewAnswer(msgspec.Struct, rename={"start": "from", "end": "to"}):
    """What a rule would have told. ``from`` is later than asked where that was too much to go through.

    ``known`` is false for a rule whose past is not stored.
    """

    count: int
    hosts: int
    start: str
    end: str
    known: bool
    fired: list[PreviewFired]


class AlertsQuery(LanguageQuery, kw_only=True):
    """Which alerts to list: those that fire first, then the newest."""

    state: AlertState | None = None
    host: Annotated[str, Meta(max_length=253)] | None = None
    rule: Annotated[str, Meta(max_length=64)] | None = None
    limit: Annotated[int, Meta(ge=1, le=1000, description="How many to list.")] = 200


class AlertInfo(msgspec.Struct):
    """An alert. ``no_data_since`` stands while nobody knows whether it still holds; ``silenced`` while one is told."""

    id: str
    rule: str
    host: str
    subject: str
    state: str
    severity: str
    sentence: Text
    cause: str
    row_class: str
    value: float | None
    threshold: float | None
    began: str
    fired: str | None
    resolved: str | None
    start_ms: float
    end_ms: float
    no_data_since: str | None
    incident: str
    labels: dict[str, str]
    acknowledged: str | None
    acknowledged_by: str
    silenced: bool


class SilenceInfo(msgspec.Struct, rename={"start": "from", "end": "to"}):
    """A silence; ``active`` while it is in force."""

    id: str
    matchers: list[str]
    start: str
    end: str
    reason: str
    made_by: str
    active: bool


class SilenceRequest(msgspec.Struct, forbid_unknown_fields=True, rename={"start": "from"}):
    """What to silence, from when on (now), and for how many seconds."""

    matchers: Annotated[list[str], Meta(min_length=1, max_length=20, description="For example host=node-*.")]
    seconds: Annotated[float, Meta(gt=0, le=366 * 86400)]
    reason: Annotated[str, Meta(max_length=MAX_REASON)] = ""
    start: Time | None = None
