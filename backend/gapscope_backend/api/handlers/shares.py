"""Shares: making, listing and revoking links, and what one of them is about."""

from __future__ import annotations

import msgspec
from aiohttp import web

from gapscope_backend.api.answers import json_answer
from gapscope_backend.api.context import CONTEXT, Context, context_of
from gapscope_backend.api.queries import read_query
from gapscope_backend.api.security import SHARE, user_of
from gapscope_backend.api.share_schema import (
    PUBLIC_DAYS,
    ShareInfo,
    ShareMade,
    ShareRequest,
    SharesQuery,
    ShareView,
)
from gapscope_backend.errors import MalformedError
from gapscope_backend.services.hosts import find_host
from gapscope_backend.services.shares import ShareWish
from gapscope_backend.services.times import iso, parse_span
from gapscope_backend.store.models import Share
from gapscope_backend.store.shares import ShareFilter, list_shares

DEFAULT_DAYS = 90
DEFAULT_PUBLIC_DAYS = 7
_REQUEST = msgspec.json.Decoder(ShareRequest)


async def get_shares(request: web.Request) -> web.Response:
    """Shares, newest first, those that are over too."""
    context, asked = request.app[CONTEXT], read_query(request, SharesQuery)
    host_id = None if asked.host is None else (await find_host(context.database, asked.host)).id
    found = await list_shares(context.database, ShareFilter(asked.incident, host_id, asked.limit))
    now_ns = context.clock()
    return json_answer([_info(share, host, now_ns) for share, host in found])


async def post_share(request: web.Request) -> web.Response:
    """Freeze an incident, or a span of a host, behind a new link."""
    context, user = request.app[CONTEXT], user_of(request)
    try:
        asked = _REQUEST.decode(await request.read())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedError(
            f'the body must be {{"incident": "..."}} or a host with from and to: {error}', "body"
        ) from error
    wish = ShareWish(asked.view, asked.public, _days(asked), user)
    link = await _share(context, asked, wish)
    now_ns = context.clock()
    return json_answer(ShareMade(_info(*await context.shares.find(link, now_ns), now_ns), link, f"/share/{link}"))


async def delete_share(request: web.Request) -> web.Response:
    """End a share now: its link answers 410 from then on, and what it showed is deleted."""
    context = request.app[CONTEXT]
    user_of(request)
    await context.shares.revoke(request.match_info["share"], context.clock())
    return web.Response(status=204)


async def get_shared(request: web.Request) -> web.Response:
    """What a link is about."""
    share, host = request[SHARE]
    frozen = await find_host(context_of(request).database, host)
    return json_answer(
        ShareView(
            host=host,
            incident=share.incident or None,
            start=iso(share.start_ns),
            end=iso(share.end_ns),
            first_data=iso(frozen.first_data_ns),
            last_data=iso(frozen.last_data_ns),
            view=share.view,
            public=share.public,
            made=iso(share.made_ns),
            made_by=None if share.public else share.made_by,
            expires=iso(share.expires_ns),
        )
    )


def _days(asked: ShareRequest) -> int:
    if asked.days is None:
        return DEFAULT_PUBLIC_DAYS if asked.public else DEFAULT_DAYS
    if asked.public and asked.days > PUBLIC_DAYS:
        raise MalformedError(f"a public link lives for {PUBLIC_DAYS} days at most", "days")
    return asked.days


async def _share(context: Context, asked: ShareRequest, wish: ShareWish) -> str:
    """The secret of the new link."""
    now_ns = context.clock()
    if asked.incident is not None and (asked.host, asked.start, asked.end) == (None, None, None):
        return await context.shares.share_incident(asked.incident, wish, now_ns)
    if asked.incident is not None or asked.host is None or asked.start is None or asked.end is None:
        raise MalformedError("give either an incident, or a host with from and to", "body")
    host = await find_host(context.database, asked.host)
    return await context.shares.share_span(host, *parse_span(asked.start, asked.end, now_ns), wish, now_ns)


def _info(share: Share, host: str, now_ns: int) -> ShareInfo:
    over = "expired" if share.expires_ns <= now_ns else "live"
    return ShareInfo(
        id=share.id,
        host=host,
        incident=share.incident or None,
        start=iso(share.start_ns),
        end=iso(share.end_ns),
        public=share.public,
        state=over if share.revoked_ns is None else "revoked",  # type: ignore[arg-type]
        made=iso(share.made_ns),
        made_by=share.made_by,
        expires=iso(share.expires_ns),
        revoked=None if share.revoked_ns is None else iso(share.revoked_ns),
        size_bytes=share.size_bytes,
    )
