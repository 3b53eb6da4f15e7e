"""Routes about the whole server."""

from __future__ import annotations

from gapscope_backend.api import overview_schema as schema
from gapscope_backend.api.handlers import about, overview
from gapscope_backend.api.queries import LanguageQuery
from gapscope_backend.api.route import API, Access, Route

OVERVIEW_ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        f"{API}/fleet",
        Access.READ,
        overview.get_fleet,
        "All hosts and GPUs in a past minute",
        query=schema.FleetQuery,
        answer=schema.FleetMinute,
        problems=(400,),
    ),
    Route(
        "GET",
        f"{API}/fleet/bounds",
        Access.READ,
        overview.get_fleet_bounds,
        "How far back the fleet can be shown",
        answer=schema.FleetBounds,
    ),
    Route(
        "GET",
        f"{API}/incident-rules",
        Access.READ,
        overview.get_incident_rules,
        "What opens an incident: the thresholds in force",
        answer=schema.IncidentRules,
    ),
    Route(
        "GET",
        f"{API}/incident-counts",
        Access.READ,
        overview.get_incident_counts,
        "How often incidents opened, by host and cause",
        query=schema.FiredQuery,
        answer=schema.FiredAnswer,
        problems=(400,),
    ),
    Route(
        "GET",
        f"{API}/pins",
        Access.READ,
        overview.get_pins,
        "What is kept for incidents beyond the retention",
        query=LanguageQuery,
        answer=schema.PinsAnswer,
        problems=(400,),
    ),
    Route(
        "GET",
        f"{API}/settings",
        Access.READ,
        overview.get_settings,
        "What the server was started with",
        answer=schema.ServerSettings,
    ),
    Route(
        "GET",
        f"{API}/about",
        Access.READ,
        about.get_about,
        "Versions, database, and the agents: cost, dropped values, other versions",
        answer=schema.About,
    ),
)
