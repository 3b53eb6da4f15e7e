"""Routes of alerts, their rules and silences."""

from __future__ import annotations

from gapscope_backend.api import alert_schema as schema
from gapscope_backend.api.handlers import alerts
from gapscope_backend.api.queries import LanguageQuery
from gapscope_backend.api.route import API, Access, Route

RULES = API + "/alert-rules"
SILENCES = API + "/silences"

ALERT_ROUTES: tuple[Route, ...] = (
    Route("GET", RULES, Access.READ, alerts.get_rules, "Rules of alerts", answer=list[schema.RuleInfo]),
    Route(
        "PUT",
        RULES + "/{rule}",
        Access.SESSION,
        alerts.put_rule,
        "Add a rule or change one; it is checked",
        body=schema.RuleRequest,
        answer=schema.RuleInfo,
        problems=(400, 403, 413, 422),
    ),
    Route(
        "DELETE",
        RULES + "/{rule}",
        Access.SESSION,
        alerts.delete_rule,
        "Forget a rule, or what was changed of a default one",
        problems=(403, 404),
    ),
    Route(
        "POST",
        RULES + "/preview",
        Access.SESSION,
        alerts.post_preview,
        "How often a rule would have fired over what is stored",
        query=LanguageQuery,
        body=schema.PreviewRequest,
        answer=schema.PreviewAnswer,
        problems=(400, 403, 413, 422, 503),
    ),
    Route(
        "GET",
        f"{API}/alerts",
        Access.READ,
        alerts.get_alerts,
        "Alerts: those that fire first, then the newest",
        query=schema.AlertsQuery,
        answer=list[schema.AlertInfo],
        problems=(400, 404),
    ),
    Route(
        "POST",
        API + "/alerts/{alert}/acknowledge",
        Access.SESSION,
        alerts.post_alert_acknowledge,
        "Say that somebody looks after an alert; nobody is reminded of it any more",
        query=LanguageQuery,
        answer=schema.AlertInfo,
        problems=(400, 403, 404),
    ),
    Route("GET", SILENCES, Access.READ, alerts.get_silences, "Silences", answer=list[schema.SilenceInfo]),
    Route(
        "POST",
        SILENCES,
        Access.SESSION,
        alerts.post_silence,
        "Silence the alerts that fit, for a while",
        body=schema.SilenceRequest,
        answer=schema.SilenceInfo,
        problems=(400, 403, 413, 422),
    ),
    Route(
        "DELETE",
        SILENCES + "/{silence}",
        Access.SESSION,
        alerts.delete_silence,
        "End a silence now",
        problems=(403, 404),
    ),
)
