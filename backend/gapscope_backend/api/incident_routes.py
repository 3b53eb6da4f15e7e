"""Routes of incidents."""

from __future__ import annotations

from gapscope_backend.api import incident_schema as schema
from gapscope_backend.api.handlers import incidents
from gapscope_backend.api.queries import LanguageQuery
from gapscope_backend.api.route import API, Access, Route

INCIDENT = API + "/incidents/{incident}"

INCIDENT_ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        f"{API}/incidents",
        Access.READ,
        incidents.get_incidents,
        "Incidents, newest first",
        query=schema.IncidentsQuery,
        answer=list[schema.IncidentSummary],
        problems=(400, 404),
    ),
    Route(
        "GET",
        INCIDENT,
        Access.READ,
        incidents.get_incident,
        "One incident with its frozen verdict",
        query=LanguageQuery,
        answer=schema.IncidentDetail,
        problems=(400, 404),
    ),
    Route(
        "POST",
        f"{INCIDENT}/acknowledge",
        Access.SESSION,
        incidents.post_acknowledge,
        "Say that somebody looks after an incident",
        query=LanguageQuery,
        answer=schema.IncidentDetail,
        problems=(400, 403, 404),
    ),
    Route(
        "POST",
        f"{INCIDENT}/comment",
        Access.SESSION,
        incidents.post_comment,
        "Write a comment to an incident",
        query=LanguageQuery,
        body=schema.CommentRequest,
        answer=schema.IncidentDetail,
        problems=(400, 403, 404, 413),
    ),
)
