"""Routes of incidents."""

from __future__ import annotations

from gapscope_backend.api import incident_schema as schema
from gapscope_backend.api.handlers import incident_file, incidents
from gapscope_backend.api.queries import LanguageQuery
from gapscope_backend.api.route import API, Access, Route
from gapscope_backend.services.incident_files import MEDIA_TYPE

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
        "GET",
        f"{INCIDENT}/file",
        Access.READ,
        incident_file.get_incident_file,
        "One incident with its data as a file that opens anywhere",
        answer_types=(MEDIA_TYPE,),
        problems=(404, 503),
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
    Route(
        "POST",
        f"{INCIDENT}/assign",
        Access.SESSION,
        incidents.post_assign,
        "Say who looks after an incident",
        query=LanguageQuery,
        body=schema.AssignRequest,
        answer=schema.IncidentDetail,
        problems=(400, 403, 404, 413),
    ),
)
