"""Channels: making, changing, testing and forgetting them."""

from __future__ import annotations

import msgspec
from aiohttp import web

from gapscope_backend.alerts.channels import KINDS
from gapscope_backend.api.answers import json_answer
from gapscope_backend.api.channel_schema import (
    ChannelInfo,
    ChannelKept,
    ChannelRequest,
    DeliveryInfo,
    SecretMade,
    SecretRequest,
)
from gapscope_backend.api.context import CONTEXT
from gapscope_backend.api.handlers.deliveries import info
from gapscope_backend.api.security import user_of
from gapscope_backend.errors import MalformedError
from gapscope_backend.services.channels import ChannelWish, shown_url
from gapscope_backend.services.times import iso
from gapscope_backend.store.alert_models import Channel
from gapscope_backend.store.channels import list_channels
from gapscope_backend.store.deliveries import DeliveryFilter, list_deliveries

_REQUEST = msgspec.json.Decoder(ChannelRequest)
_SECRET = msgspec.json.Decoder(SecretRequest)


async def get_channels(request: web.Request) -> web.Response:
    """All channels, each with its newest message."""
    database = request.app[CONTEXT].database
    told = []
    for channel in await list_channels(database):
        newest = await list_deliveries(database, DeliveryFilter(channel.id, limit=1))
        told.append(_info(channel, info(newest[0]) if newest else None))
    return json_answer(told)


async def put_channel(request: web.Request) -> web.Response:
    """Make or change a channel."""
    context = request.app[CONTEXT]
    user_of(request)
    channel_id = request.match_info["channel"]
    try:
        asked = _REQUEST.decode(await request.read())
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedError(f'the body must be {{"kind": "webhook", "url": ...}}: {error}', "body") from error
    wish = ChannelWish(**{name: getattr(asked, name) for name in ChannelRequest.__struct_fields__})
    channel, secret = await context.channels.put(channel_id, wish)
    newest = await list_deliveries(context.database, DeliveryFilter(channel_id, limit=1))
    return json_answer(ChannelKept(_info(channel, info(newest[0]) if newest else None), secret))


async def delete_channel(request: web.Request) -> web.Response:
    """Forget a channel."""
    user_of(request)
    await request.app[CONTEXT].channels.delete(request.match_info["channel"])
    return web.Response(status=204)


async def post_secret(request: web.Request) -> web.Response:
    """Change a channel's secret."""
    user_of(request)
    body = await request.read()
    try:
        asked = _SECRET.decode(body) if body else SecretRequest()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedError('the body must be {"secret": ...}, or empty', "body") from error
    made = await request.app[CONTEXT].channels.rotate(request.match_info["channel"], asked.secret)
    return json_answer(SecretMade(made))


async def delete_old_secret(request: web.Request) -> web.Response:
    """End the change of a secret."""
    user_of(request)
    await request.app[CONTEXT].channels.drop_old_secret(request.match_info["channel"])
    return web.Response(status=204)


async def post_test(request: web.Request) -> web.Response:
    """Send a test message."""
    context = request.app[CONTEXT]
    user_of(request)
    return json_answer(info(await context.channels.test(request.match_info["channel"], str(request.url.origin()))))


def _info(channel: Channel, last: DeliveryInfo | None) -> ChannelInfo:
    settings = channel.settings
    return ChannelInfo(
        id=channel.id,
        kind=channel.kind,  # type: ignore[arg-type]
        name=channel.name,
        enabled=channel.enabled,
        url=shown_url(settings.get("url") or KINDS[channel.kind].own_url),
        header_names=sorted(settings.get("headers", {})),
        secrets=len(channel.secrets),
        language=settings.get("language", "en"),
        heartbeat_seconds=settings.get("heartbeat_seconds", 0),
        alerts=settings.get("alerts", True),
        origin=channel.origin,
        revision=channel.revision,
        updated=iso(channel.updated_ns),
        last=last,
    )
