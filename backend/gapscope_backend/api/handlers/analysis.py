"""Answers of the analysis beyond the verdict: what differs, what changed, what to mind before going live."""

from __future__ import annotations

from aiohttp import web

from gapscope_backend.analysis.checklist import run_checklist
from gapscope_backend.analysis.flame import Choice, collapsed, speedscope
from gapscope_backend.api.answers import json_answer, spoken_answer
from gapscope_backend.api.context import context_of
from gapscope_backend.api.queries import (
    CompareQuery,
    ContrastQuery,
    FlameQuery,
    SpokenSpanQuery,
    language_of,
    read_query,
)
from gapscope_backend.services.comparison import compare_hosts, parse_host_span
from gapscope_backend.services.contrast import contrasts_of, parse_span_text
from gapscope_backend.services.flame import flame_of
from gapscope_backend.services.hosts import find_host


async def get_contrast(request: web.Request) -> web.Response:
    """The gaps of each GPU, or the chosen spans, against the rest."""
    context = context_of(request)
    asked, language = read_query(request, ContrastQuery), language_of(request)
    now_ns = context.clock()
    start_ns, end_ns = asked.span_ns(now_ns)
    spans = [parse_span_text(text, now_ns, "span") for text in asked.span]
    host = await find_host(context.database, request.match_info["host"])
    found = await context.diagnosis.apply(host, start_ns, end_ns, contrasts_of(asked.gpu, spans))
    return spoken_answer(found, language)


async def get_flame(request: web.Request) -> web.Response:
    """Stacks folded into a tree, for the page or for other programs."""
    context = context_of(request)
    asked = read_query(request, FlameQuery)
    now_ns = context.clock()
    start_ns, end_ns = asked.span_ns(now_ns)
    choice = Choice(
        where=asked.where,
        against=asked.against,
        gpu=asked.gpu,
        spans=tuple(parse_span_text(text, now_ns, "span") for text in asked.span),
        pids=tuple(asked.pid),
        tids=tuple(asked.tid),
        by=asked.by,
        on_cpu=asked.on_cpu,
        order=asked.order,
        min_share=asked.min_share if asked.format == "json" else 0.0,
    )
    host = await find_host(context.database, request.match_info["host"])
    flame = await flame_of(context.database, host, start_ns, end_ns, choice)
    if asked.format == "collapsed":
        return web.Response(text=collapsed(flame), content_type="text/plain")
    return json_answer(flame if asked.format == "json" else speedscope(flame, host.name))


async def get_comparison(request: web.Request) -> web.Response:
    """Two or more spans side by side."""
    context = context_of(request)
    asked, language = read_query(request, CompareQuery), language_of(request)
    now_ns = context.clock()
    spans = [parse_host_span(text, now_ns, name) for name, text in asked.given()]
    return spoken_answer(await compare_hosts(context.database, context.diagnosis, spans), language)


async def get_checklist(request: web.Request) -> web.Response:
    """The go-live checklist."""
    context = context_of(request)
    asked, language = read_query(request, SpokenSpanQuery), language_of(request)
    start_ns, end_ns = asked.span_ns(context.clock())
    host = await find_host(context.database, request.match_info["host"])
    return spoken_answer(await context.diagnosis.apply(host, start_ns, end_ns, run_checklist), language)
