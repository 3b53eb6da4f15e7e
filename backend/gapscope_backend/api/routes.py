"""The one table of routes."""

from __future__ import annotations

from gapscope_agent.wire import MEDIA_TYPE, Acknowledgement
from gapscope_backend.analysis.checklist import Checklist
from gapscope_backend.analysis.compare import Comparison
from gapscope_backend.analysis.contrast import Contrast
from gapscope_backend.analysis.flame import Flame
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.api import queries, schema
from gapscope_backend.api.alert_routes import ALERT_ROUTES
from gapscope_backend.api.annotation_routes import ANNOTATION_ROUTES
from gapscope_backend.api.channel_routes import CHANNEL_ROUTES
from gapscope_backend.api.handlers import (
    analysis,
    capacity,
    export,
    hosts,
    ingest,
    jobs,
    live,
    meta,
    pages,
    session,
    spans,
)
from gapscope_backend.api.incident_routes import INCIDENT_ROUTES
from gapscope_backend.api.job_schema import JobDetail, JobQuery
from gapscope_backend.api.overview_routes import OVERVIEW_ROUTES
from gapscope_backend.api.route import API, Access, Route
from gapscope_backend.api.share_routes import SHARE_ROUTES, behind_links
from gapscope_backend.services.capacity import Capacity
from gapscope_backend.services.export_formats import MEDIA_TYPES

HOST = API + "/hosts/{host}"
PAGES = (
    "/",
    "/login",
    "/host/{host}",
    "/incidents",
    "/incident/{incident}",
    "/compare",
    "/job/{job}",
    "/alerts",
    "/alerts/log",
    "/settings",
    "/about",
)
"""Addresses of the page; it finds its way by them."""

_ROUTES: tuple[Route, ...] = (
    Route("GET", f"{API}/health", Access.PUBLIC, meta.get_health, "State of the server", answer=schema.Health),
    Route("GET", f"{API}/openapi.json", Access.PUBLIC, meta.get_openapi, "This description"),
    Route(
        "POST",
        f"{API}/login",
        Access.PUBLIC,
        session.post_login,
        "Exchange a one-time token for a session cookie",
        body=schema.LoginRequest,
        answer=schema.SessionInfo,
        problems=(400, 401, 403, 413),
    ),
    Route("POST", f"{API}/logout", Access.SESSION, session.post_logout, "End the session"),
    Route("GET", f"{API}/session", Access.SESSION, session.get_session, "Who is logged in", answer=schema.SessionInfo),
    Route(
        "GET",
        f"{API}/catalog",
        Access.READ,
        meta.get_catalog,
        "All series and causes",
        query=queries.LanguageQuery,
        answer=schema.Catalog,
        problems=(400,),
    ),
    Route(
        "GET",
        f"{API}/hosts",
        Access.READ,
        hosts.get_hosts,
        "All hosts",
        query=queries.LanguageQuery,
        answer=list[schema.HostSummary],
        problems=(400,),
    ),
    Route("GET", HOST, Access.READ, hosts.get_host, "One host's facts", answer=schema.HostDetail, problems=(404,)),
    Route(
        "GET",
        f"{HOST}/series",
        Access.READ,
        spans.get_series,
        "Series over a span, in buckets or raw",
        query=queries.SeriesParameters,
        answer=schema.SeriesAnswer,
        problems=(400, 404, 422),
    ),
    Route(
        "GET",
        f"{HOST}/export",
        Access.READ,
        export.get_export,
        "Series over a span of any length as a file: CSV, Arrow or Parquet",
        query=queries.ExportParameters,
        answer_types=tuple(MEDIA_TYPES.values()),
        problems=(400, 404, 422, 503),
    ),
    Route(
        "GET",
        f"{HOST}/latest",
        Access.READ,
        hosts.get_latest,
        "Newest value of each series",
        answer=schema.LatestAnswer,
        problems=(404,),
    ),
    Route(
        "GET",
        f"{HOST}/ribbon",
        Access.READ,
        spans.get_ribbon,
        "The top stack function over a span",
        query=queries.RibbonQuery,
        answer=schema.RibbonAnswer,
        problems=(400, 404, 422),
    ),
    Route(
        "GET",
        f"{HOST}/gaps",
        Access.READ,
        spans.get_gaps,
        "Idle gaps over a span, longest first",
        query=queries.GapsQuery,
        answer=schema.GapsAnswer,
        problems=(400, 404, 422),
    ),
    Route(
        "GET",
        f"{HOST}/diagnosis",
        Access.READ,
        spans.get_diagnosis,
        "What the GPUs waited for over a span of at most an hour",
        query=queries.SpokenSpanQuery,
        answer=Verdict,
        problems=(400, 404, 422),
    ),
    Route(
        "GET",
        f"{HOST}/flame",
        Access.READ,
        analysis.get_flame,
        "Python stacks of a span of at most six hours as a flame graph: all, by idle time, in the GPU's gaps, outside",
        query=queries.FlameQuery,
        answer=Flame,
        answer_types=("text/plain",),
        problems=(400, 404, 422),
    ),
    Route(
        "GET",
        f"{HOST}/contrast",
        Access.READ,
        analysis.get_contrast,
        "What differs between the GPUs' gaps and the rest of a span of at most an hour",
        query=queries.ContrastQuery,
        answer=list[Contrast],
        problems=(400, 404, 422),
    ),
    Route(
        "GET",
        f"{HOST}/check",
        Access.READ,
        analysis.get_checklist,
        "The go-live checklist over a span of at most an hour",
        query=queries.SpokenSpanQuery,
        answer=Checklist,
        problems=(400, 404, 422),
    ),
    Route(
        "GET",
        f"{API}/compare",
        Access.READ,
        analysis.get_comparison,
        "Two or more spans of hosts side by side, each at most an hour",
        query=queries.CompareQuery,
        answer=Comparison,
        problems=(400, 404, 422),
    ),
    Route(
        "GET",
        f"{API}/capacity",
        Access.READ,
        capacity.get_capacity,
        "Room in the database: bytes by kind and host, growth, days until it is full",
        query=queries.CapacityQuery,
        answer=Capacity,
        problems=(400, 503),
    ),
    Route(
        "GET",
        f"{API}/jobs/{{job}}",
        Access.READ,
        jobs.get_job,
        "A training job or service across its GPUs and hosts",
        query=JobQuery,
        answer=JobDetail,
        problems=(400, 404, 422),
    ),
    *INCIDENT_ROUTES,
    *ANNOTATION_ROUTES,
    *OVERVIEW_ROUTES,
    *ALERT_ROUTES,
    *CHANNEL_ROUTES,
    Route(
        "POST",
        f"{API}/ingest",
        Access.INGEST,
        ingest.post_ingest,
        "Store one batch",
        body=bytes,
        answer=Acknowledgement,
        media_type=MEDIA_TYPE,
        problems=(400, 408, 413, 415, 422, 426, 503, 507),
    ),
    Route(
        "GET",
        f"{API}/agent/live",
        Access.INGEST,
        live.agent_live,
        "Live frames of an agent (WebSocket)",
        query=queries.LiveQuery,
        websocket=True,
        problems=(400,),
    ),
    Route(
        "GET",
        f"{API}/live",
        Access.READ,
        live.page_live,
        "Live frames of a host for a page (WebSocket)",
        query=queries.LiveQuery,
        websocket=True,
        problems=(400, 404),
    ),
    *(Route("GET", path, Access.PUBLIC, pages.get_index, "The page", page=True) for path in PAGES),
    Route("GET", "/share/{link}", Access.PUBLIC, pages.get_share_page, "The page of a share", page=True),
    Route("GET", "/assets/{name:.+}", Access.PUBLIC, pages.get_asset, "The page's files", page=True),
    Route(
        "GET",
        r"/{name:[A-Za-z0-9_-]+\.(?:svg|ico|png|txt|webmanifest|woff2)}",
        Access.PUBLIC,
        pages.get_root_file,
        "The page's icons",
        page=True,
    ),
)

ROUTES: tuple[Route, ...] = (*_ROUTES, *SHARE_ROUTES, *behind_links(_ROUTES))
