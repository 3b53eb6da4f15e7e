"""Incidents: the list, one whole, and what people say of one."""

from __future__ import annotations

from typing import cast

import msgspec
from aiohttp import web

from gapscope_backend.analysis.language import Language, from_message, read_message, rendered
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.api.answers import spoken_answer
from gapscope_backend.api.context import CONTEXT, Context, context_of
from gapscope_backend.api.incident_schema import (
    AssignRequest,
    CommentRequest,
    IncidentAssignment,
    IncidentComment,
    IncidentDetail,
    IncidentEpisode,
    IncidentRow,
    IncidentSpan,
    IncidentsQuery,
    IncidentSummary,
)
from gapscope_backend.api.queries import LanguageQuery, language_of, read_query
from gapscope_backend.api.security import user_of
from gapscope_backend.errors import MalformedError, NotFoundError
from gapscope_backend.services.hosts import find_host
from gapscope_backend.services.incident_verdict import sentence_of
from gapscope_backend.services.incidents import PINNED_NS
from gapscope_backend.services.times import iso, milliseconds, parse_time
from gapscope_backend.store.incidents import IncidentFilter, change_incident, incident_of, list_incidents
from gapscope_backend.store.models import Incident

_COMMENT = msgspec.json.Decoder(CommentRequest)
_ASSIGN = msgspec.json.Decoder(AssignRequest)


async def get_incidents(request: web.Request) -> web.Response:
    """Incidents, newest first."""
    context = request.app[CONTEXT]
    asked, language = read_query(request, IncidentsQuery), language_of(request)
    now_ns = context.clock()
    wanted = IncidentFilter(
        host_id=None if asked.host is None else (await find_host(context.database, asked.host)).id,
        state=asked.state,
        start_ns=None if asked.start is None else parse_time(asked.start, now_ns, "from"),
        end_ns=None if asked.end is None else parse_time(asked.end, now_ns, "to"),
        limit=asked.limit,
    )
    found = await list_incidents(context.database, wanted)
    return spoken_answer([_summary(incident, host) for incident, host in found], language)


async def get_incident(request: web.Request) -> web.Response:
    """One incident with its frozen verdict."""
    language = _asked_language(request)
    incident, host = await _find(context_of(request), request.match_info["incident"])
    return spoken_answer(_detail(incident, host, language), language)


async def post_acknowledge(request: web.Request) -> web.Response:
    """Say that somebody looks after it; the first one's name stays."""
    _asked_language(request)
    incident, _ = await _find(request.app[CONTEXT], request.match_info["incident"])
    if incident.acknowledged_ns is None:
        by = {"acknowledged_ns": request.app[CONTEXT].clock(), "acknowledged_by": user_of(request)}
        await change_incident(request.app[CONTEXT].database, incident.id, by)
    return await get_incident(request)


async def post_comment(request: web.Request) -> web.Response:
    """Write a comment to it."""
    _asked_language(request)
    try:
        text = _COMMENT.decode(await request.read()).text
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedError(f'the body must be {{"text": "..."}}: {error}', "body") from error
    comment = {"time_ns": request.app[CONTEXT].clock(), "user": user_of(request), "text": text}
    incident, _ = await _find(request.app[CONTEXT], request.match_info["incident"])
    await change_incident(request.app[CONTEXT].database, incident.id, {"comment": comment})
    return await get_incident(request)


async def post_assign(request: web.Request) -> web.Response:
    """Give it to a person, or take it from one; each change stays in its history."""
    _asked_language(request)
    try:
        to = _ASSIGN.decode(await request.read()).to.strip()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedError(f'the body must be {{"to": "..."}}: {error}', "body") from error
    incident, _ = await _find(request.app[CONTEXT], request.match_info["incident"])
    if to != _assigned_to(incident):
        change = {"time_ns": request.app[CONTEXT].clock(), "user": user_of(request), "to": to}
        await change_incident(request.app[CONTEXT].database, incident.id, {"assignment": change})
    return await get_incident(request)


def _assigned_to(incident: Incident) -> str:
    """The name of who looks after it; empty for nobody."""
    return incident.assignments[-1]["to"] if incident.assignments else ""


def _asked_language(request: web.Request) -> Language:
    """Checked before anything is written."""
    read_query(request, LanguageQuery)
    return language_of(request)


async def _find(context: Context, incident_id: str) -> tuple[Incident, str]:
    found = await incident_of(context.database, incident_id)
    if found is None:
        raise NotFoundError(f"no incident {incident_id[:40]!r}; GET /api/v1/incidents lists them", "incident")
    return found


def _summary(incident: Incident, host: str) -> IncidentSummary:
    acknowledged_ns = incident.acknowledged_ns
    return IncidentSummary(
        id=incident.id,
        host=host,
        gpus=incident.gpus,
        state=incident.state,
        severity=incident.severity,
        cause=incident.cause,
        row_class=incident.row_class,
        sentence=sentence_of(incident),
        confidence=incident.confidence,
        start=iso(incident.start_ns),
        end=iso(incident.end_ns),
        end_reason=incident.end_reason,
        seconds=(incident.end_ns - incident.start_ns) / 1e9,
        lost_gpu_seconds=incident.lost_gpu_seconds,
        ledger=msgspec.convert(incident.ledger, list[IncidentRow], dec_hook=from_message),
        acknowledged=None if acknowledged_ns is None else iso(acknowledged_ns),
        acknowledged_by=incident.acknowledged_by,
        comments=len(incident.comments),
        assigned_to=_assigned_to(incident),
    )


def _detail(incident: Incident, host: str, language: Language) -> IncidentDetail:
    return IncidentDetail(
        summary=_summary(incident, host),
        spans=[
            IncidentSpan(milliseconds(span["start_ns"]), milliseconds(span["end_ns"]), read_message(span["text"]))
            for span in incident.spans
        ],
        episodes=[
            IncidentEpisode(
                one["gpu"], one["kind"], milliseconds(one["start_ns"]), milliseconds(one["end_ns"]), one["ongoing"]
            )
            for one in incident.episodes
        ],
        comments=[IncidentComment(iso(one["time_ns"]), one["user"], one["text"]) for one in incident.comments],
        assignments=[IncidentAssignment(iso(one["time_ns"]), one["user"], one["to"]) for one in incident.assignments],
        pinned_until=None if incident.closed_ns is None else iso(incident.closed_ns + PINNED_NS),
        # As it was frozen: a verdict of an older version stays readable whatever this version's type asks for.
        verdict=cast(Verdict, rendered(msgspec.json.decode(incident.verdict), language)),
    )
