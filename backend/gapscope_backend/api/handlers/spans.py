"""What a host did over a span: series, ribbon, gaps, diagnosis."""

from __future__ import annotations

import asyncio

import msgspec
from aiohttp import web

from gapscope_backend.api.answers import json_answer, json_bytes, ribbon_answer, series_data, spoken_answer
from gapscope_backend.api.context import context_of
from gapscope_backend.api.queries import (
    GapsQuery,
    RibbonQuery,
    SeriesParameters,
    SpokenSpanQuery,
    language_of,
    read_query,
)
from gapscope_backend.api.schema import GapInfo, GapsAnswer, SeriesAnswer
from gapscope_backend.services.gaps import find_gaps
from gapscope_backend.services.hosts import find_host, host_state
from gapscope_backend.services.ribbon import build_ribbon
from gapscope_backend.services.series import SeriesQuery, SeriesSet, query_series
from gapscope_backend.services.times import iso, milliseconds
from gapscope_backend.store.models import Host
from gapscope_backend.store.reader import Selection


async def get_series(request: web.Request) -> web.Response:
    """Series in buckets, or raw when short."""
    context = context_of(request)
    asked = read_query(request, SeriesParameters)
    now_ns = context.clock()
    start_ns, end_ns = asked.span_ns(now_ns)
    host = await find_host(context.database, request.match_info["host"])
    selection = Selection(tuple(asked.entity) or ("*",), frozenset(asked.metric))
    query = SeriesQuery(start_ns, end_ns, asked.buckets, selection, context.config.gap_threshold)
    found = await query_series(context.database, host, query, now_ns, host_state(host, now_ns) == "live")
    return json_bytes(await asyncio.to_thread(_encode_series, host, query, found))


async def get_ribbon(request: web.Request) -> web.Response:
    """The top stack function in each bucket."""
    context = context_of(request)
    asked, language = read_query(request, RibbonQuery), language_of(request)
    start_ns, end_ns = asked.span_ns(context.clock())
    host = await find_host(context.database, request.match_info["host"])
    ribbon = await build_ribbon(context.database, host, start_ns, end_ns, asked.buckets)
    return spoken_answer(ribbon_answer(host.name, ribbon), language)


async def get_gaps(request: web.Request) -> web.Response:
    """The longest gaps."""
    context = context_of(request)
    asked = read_query(request, GapsQuery)
    start_ns, end_ns = asked.span_ns(context.clock())
    host = await find_host(context.database, request.match_info["host"])
    threshold = context.config.gap_threshold
    gaps = await find_gaps(context.database, host, start_ns, end_ns, threshold)
    listed = [
        GapInfo(gap.entity, milliseconds(gap.start_ns), milliseconds(gap.end_ns), gap.idle_seconds)
        for gap in gaps[: asked.limit]
    ]
    return json_answer(GapsAnswer(host.name, threshold, listed, len(gaps)))


async def get_diagnosis(request: web.Request) -> web.Response:
    """The verdict."""
    context = context_of(request)
    asked, language = read_query(request, SpokenSpanQuery), language_of(request)
    start_ns, end_ns = asked.span_ns(context.clock())
    host = await find_host(context.database, request.match_info["host"])
    # "The last five minutes" of a host that has sent for one minute are that minute; exact times stay as they are.
    verdict = await context.diagnosis.diagnose(host, start_ns, end_ns, stored_only=asked.relative)
    return spoken_answer(verdict, language)


def _encode_series(host: Host, query: SeriesQuery, found: SeriesSet) -> bytes:
    answer = SeriesAnswer(
        host=host.name,
        start=iso(query.start_ns),
        end=iso(query.end_ns),
        raw=found.bucket_ns is None,
        bucket_ms=None if found.bucket_ns is None else milliseconds(found.bucket_ns),
        series=series_data(found.series),
    )
    return msgspec.json.encode(answer)
