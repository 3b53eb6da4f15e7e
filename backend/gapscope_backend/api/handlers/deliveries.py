"""Deliveries: the log of messages, and sending one again."""

from __future__ import annotations

from aiohttp import web

from gapscope_backend.analysis.language import Language, rendered
from gapscope_backend.api.answers import json_answer
from gapscope_backend.api.channel_schema import AttemptInfo, DeliveriesQuery, DeliveryDetail, DeliveryInfo
from gapscope_backend.api.context import CONTEXT
from gapscope_backend.api.queries import read_query
from gapscope_backend.api.security import user_of
from gapscope_backend.services.times import iso
from gapscope_backend.store.alert_models import Delivery
from gapscope_backend.store.deliveries import PENDING, DeliveryFilter, list_deliveries


async def get_deliveries(request: web.Request) -> web.Response:
    """Messages, newest first."""
    asked = read_query(request, DeliveriesQuery)
    wanted = DeliveryFilter(asked.channel, asked.state, asked.kind, asked.limit)
    return json_answer([info(row) for row in await list_deliveries(request.app[CONTEXT].database, wanted)])


async def get_delivery(request: web.Request) -> web.Response:
    """One message."""
    row = await request.app[CONTEXT].channels.delivery(request.match_info["delivery"])
    told = info(row)
    fields = {name: getattr(told, name) for name in DeliveryInfo.__struct_fields__}
    return json_answer(DeliveryDetail(**fields, message=rendered(row.message, _language(row))))


async def post_resend(request: web.Request) -> web.Response:
    """Send a message again."""
    user_of(request)
    return json_answer(info(await request.app[CONTEXT].channels.resend(request.match_info["delivery"])))


def info(row: Delivery) -> DeliveryInfo:
    """A message in a list, in the language in which it was sent."""
    return DeliveryInfo(
        id=row.id,
        message_id=row.resend_of or row.id,
        channel=row.channel_id,
        kind=row.kind,  # type: ignore[arg-type]
        state=row.state,  # type: ignore[arg-type]
        group_key=row.group_key,
        sentence=rendered(row.message.get("sentence", ""), _language(row)),
        alerts=row.alerts,
        created=iso(row.created_ns),
        due=iso(row.due_ns) if row.state == PENDING else None,
        done=None if row.done_ns is None else iso(row.done_ns),
        attempts=row.attempts,
        log=[
            AttemptInfo(iso(entry["t_ns"]), entry["status"], entry["error"], entry["milliseconds"]) for entry in row.log
        ],
        resend_of=row.resend_of or None,
    )


def _language(row: Delivery) -> Language:
    return "zh-Hans" if row.message.get("language") == "zh-Hans" else "en"
