"""Alerts, their rules and silences."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from aiohttp import web

from gapscope_backend.alerts.matching import matchers_of, matches
from gapscope_backend.alerts.rules import BY_NAME
from gapscope_backend.analysis.language import read_message
from gapscope_backend.api.alert_schema import (
    AlertInfo,
    AlertsQuery,
    PreviewAnswer,
    PreviewFired,
    PreviewRequest,
    RuleInfo,
    RuleRequest,
    SilenceInfo,
    SilenceRequest,
)
from gapscope_backend.api.answers import json_answer, spoken_answer
from gapscope_backend.api.context import CONTEXT, Context
from gapscope_backend.api.queries import LanguageQuery, language_of, read_query
from gapscope_backend.api.security import user_of
from gapscope_backend.errors import MalformedError
from gapscope_backend.services.alert_admin import acknowledge, make_silence, stop_silence
from gapscope_backend.services.alert_preview import preview
from gapscope_backend.services.alert_rules import change_rule, checked_rule, remove_rule
from gapscope_backend.services.hosts import find_host
from gapscope_backend.services.times import iso, milliseconds, parse_span, parse_time
from gapscope_backend.store.alert_models import Alert, AlertRule, Silence
from gapscope_backend.store.alerts import AlertFilter, list_alerts, list_rules, list_silences

Body = TypeVar("Body")


async def get_rules(request: web.Request) -> web.Response:
    """All rules, by id."""
    return json_answer([_rule(row) for row in await list_rules(request.app[CONTEXT].database)])


async def put_rule(request: web.Request) -> web.Response:
    """Add a rule or change one."""
    context, user = request.app[CONTEXT], user_of(request)
    asked = await _body(request, RuleRequest, '{"spec": {"kind": ...}}')
    row = await change_rule(context.database, request.match_info["rule"], asked.spec, user, context.clock())
    return json_answer(_rule(row))


async def delete_rule(request: web.Request) -> web.Response:
    """Forget a person's rule, or what a person made of a default one."""
    context = request.app[CONTEXT]
    user_of(request)
    await remove_rule(context.database, request.match_info["rule"], context.clock())
    return web.Response(status=204)


async def post_preview(request: web.Request) -> web.Response:
    """How often a rule would have fired."""
    context, language = request.app[CONTEXT], language_of(request)
    read_query(request, LanguageQuery)
    asked = await _body(request, PreviewRequest, '{"spec": {"kind": ...}, "from": "now-24h"}')
    start_ns, end_ns = parse_span(asked.start, asked.end, context.clock())
    found = await preview(context.database, checked_rule("preview", asked.spec), start_ns, end_ns)
    fired = [
        PreviewFired(
            host=one.host,
            subject=one.subject,
            cause=one.cause,
            sentence=one.sentence,
            began=iso(one.began_ns),
            fired=iso(one.fired_ns),
            ended=None if one.ended_ns is None else iso(one.ended_ns),
        )
        for one in found.fired
    ]
    answer = PreviewAnswer(len(fired), found.hosts, iso(found.start_ns), iso(found.end_ns), found.known, fired)
    return spoken_answer(answer, language)


async def get_alerts(request: web.Request) -> web.Response:
    """Alerts: those that fire first, then the newest."""
    context = request.app[CONTEXT]
    asked, language = read_query(request, AlertsQuery), language_of(request)
    host_id = None if asked.host is None else (await find_host(context.database, asked.host)).id
    wanted = AlertFilter((asked.state,) if asked.state else None, host_id, asked.rule, asked.limit)
    silences = await _active(context)
    found = await list_alerts(context.database, wanted)
    return spoken_answer([_alert(alert, host, silences) for alert, host in found], language)


async def post_alert_acknowledge(request: web.Request) -> web.Response:
    """Say that somebody looks after an alert."""
    context, user = request.app[CONTEXT], user_of(request)
    read_query(request, LanguageQuery)
    language = language_of(request)
    alert, host = await acknowledge(context.database, request.match_info["alert"], user, context.clock())
    return spoken_answer(_alert(alert, host, await _active(context)), language)


async def get_silences(request: web.Request) -> web.Response:
    """All silences, the newest first."""
    context = request.app[CONTEXT]
    return json_answer([_silence(row, context.clock()) for row in await list_silences(context.database)])


async def post_silence(request: web.Request) -> web.Response:
    """Silence some alerts for a while."""
    context, user = request.app[CONTEXT], user_of(request)
    asked = await _body(request, SilenceRequest, '{"matchers": ["host=..."], "seconds": 3600}')
    now_ns = context.clock()
    start_ns = now_ns if asked.start is None else parse_time(asked.start, now_ns, "from")
    made = await make_silence(context.database, asked.matchers, start_ns, asked.seconds, asked.reason, user)
    return json_answer(_silence(made, now_ns))


async def delete_silence(request: web.Request) -> web.Response:
    """End a silence now."""
    context = request.app[CONTEXT]
    user_of(request)
    await stop_silence(context.database, request.match_info["silence"], context.clock())
    return web.Response(status=204)


async def _active(context: Context) -> list[Silence]:
    now_ns = context.clock()
    return [row for row in await list_silences(context.database, now_ns) if row.start_ns <= now_ns]


async def _body(request: web.Request, form: type[Body], example: str) -> Body:
    try:
        return msgspec.json.decode(await request.read(), type=form)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedError(f"the body must be {example}: {error}", "body") from error


def _rule(row: AlertRule) -> RuleInfo:
    spec: dict[str, Any] = row.spec
    kind = str(spec.get("kind", ""))
    return RuleInfo(
        id=row.id,
        name=str(spec.get("name") or row.id),
        kind=kind,
        about=BY_NAME[kind].about if kind in BY_NAME else "",
        severity=str(spec.get("severity", "warning")),
        enabled=row.enabled,
        origin=row.origin,
        spec=spec,
        revision=row.revision,
        updated=iso(row.updated_ns),
        updated_by=row.updated_by,
    )


def _alert(alert: Alert, host: str, silences: list[Silence]) -> AlertInfo:
    return AlertInfo(
        id=alert.id,
        rule=alert.rule_id,
        host=host,
        subject=alert.subject,
        state=alert.state,
        severity=alert.severity,
        sentence=read_message(alert.summary),
        cause=alert.cause,
        row_class=alert.row_class,
        value=alert.value,
        threshold=alert.threshold,
        began=iso(alert.began_ns),
        fired=None if alert.firing_ns is None else iso(alert.firing_ns),
        resolved=None if alert.resolved_ns is None else iso(alert.resolved_ns),
        start_ms=milliseconds(alert.start_ns),
        end_ms=milliseconds(alert.end_ns),
        no_data_since=None if alert.no_data_since_ns is None else iso(alert.no_data_since_ns),
        incident=alert.incident,
        labels=alert.labels,
        acknowledged=None if alert.acknowledged_ns is None else iso(alert.acknowledged_ns),
        acknowledged_by=alert.acknowledged_by,
        silenced=any(matches(matchers_of(silence.matchers), alert.labels) for silence in silences),
    )


def _silence(row: Silence, now_ns: int) -> SilenceInfo:
    return SilenceInfo(
        id=row.id,
        matchers=[str(one) for one in matchers_of(row.matchers)],
        start=iso(row.start_ns),
        end=iso(row.end_ns),
        reason=row.reason,
        made_by=row.made_by,
        active=row.start_ns <= now_ns < row.end_ns,
    )
