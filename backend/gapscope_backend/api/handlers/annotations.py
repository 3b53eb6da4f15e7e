"""Annotations: what people note at a time on a host."""

from __future__ import annotations

import secrets

import msgspec
from aiohttp import web

from gapscope_backend.api.annotation_schema import AnnotationInfo, AnnotationRequest, AnnotationsQuery
from gapscope_backend.api.answers import json_answer
from gapscope_backend.api.context import CONTEXT, context_of
from gapscope_backend.api.queries import read_query
from gapscope_backend.api.security import user_of
from gapscope_backend.errors import MalformedError, NotFoundError
from gapscope_backend.services.hosts import find_host
from gapscope_backend.services.times import iso, milliseconds, parse_time
from gapscope_backend.store.annotations import add_annotation, annotations_in, delete_annotation
from gapscope_backend.store.models import Annotation

_REQUEST = msgspec.json.Decoder(AnnotationRequest)


async def get_annotations(request: web.Request) -> web.Response:
    """Annotations of a host over a span."""
    context = context_of(request)
    asked = read_query(request, AnnotationsQuery)
    start_ns, end_ns = asked.span_ns(context.clock())
    host = await find_host(context.database, request.match_info["host"])
    found = await annotations_in(context.database, host.id, start_ns, end_ns, asked.limit)
    return json_answer([_info(annotation) for annotation in found])


async def post_annotation(request: web.Request) -> web.Response:
    """Note something on a host."""
    context, user = request.app[CONTEXT], user_of(request)
    try:
        told = _REQUEST.decode(await request.read())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedError(f'the body must be {{"at": ..., "text": "..."}}: {error}', "body") from error
    host = await find_host(context.database, request.match_info["host"])
    now_ns = context.clock()
    start_ns = parse_time(told.at, now_ns, "at")
    end_ns = start_ns if told.to is None else parse_time(told.to, now_ns, "to")
    if end_ns < start_ns:
        raise MalformedError("to lies before at", "to")
    note = Annotation(
        host_id=host.id,
        id=secrets.token_hex(16),
        start_ns=start_ns,
        end_ns=end_ns,
        kind=told.kind,
        text=told.text,
        made_ns=now_ns,
        made_by=user,
    )
    answer = _info(note)
    await add_annotation(context.database, note)
    return json_answer(answer)


async def delete_one(request: web.Request) -> web.Response:
    """Forget an annotation."""
    context = request.app[CONTEXT]
    user_of(request)
    host = await find_host(context.database, request.match_info["host"])
    wanted = request.match_info["annotation"]
    if not await delete_annotation(context.database, host.id, wanted):
        raise NotFoundError(f"host {host.name} has no annotation {wanted[:40]!r}", "annotation")
    return web.Response(status=204)


def _info(annotation: Annotation) -> AnnotationInfo:
    return AnnotationInfo(
        id=annotation.id,
        at_ms=milliseconds(annotation.start_ns),
        to_ms=milliseconds(annotation.end_ns),
        kind=annotation.kind,
        text=annotation.text,
        made=iso(annotation.made_ns),
        made_by=annotation.made_by,
    )
