"""Routes of channels and deliveries."""

from __future__ import annotations

from gapscope_backend.api import channel_schema as schema
from gapscope_backend.api.handlers import channels, deliveries
from gapscope_backend.api.route import API, Access, Route

CHANNEL = API + "/channels/{channel}"
DELIVERY = API + "/deliveries/{delivery}"

CHANNEL_ROUTES: tuple[Route, ...] = (
    Route(
        "GET",
        f"{API}/channels",
        Access.READ,
        channels.get_channels,
        "Channels by which people are told",
        answer=list[schema.ChannelInfo],
    ),
    Route(
        "PUT",
        CHANNEL,
        Access.SESSION,
        channels.put_channel,
        "Make or change a channel; its address is checked",
        body=schema.ChannelRequest,
        answer=schema.ChannelKept,
        problems=(400, 403, 413, 422),
    ),
    Route("DELETE", CHANNEL, Access.SESSION, channels.delete_channel, "Forget a channel", problems=(403, 404)),
    Route(
        "POST",
        f"{CHANNEL}/secret",
        Access.SESSION,
        channels.post_secret,
        "Give a channel a new secret; a webhook is signed under both until the old one is dropped",
        body=schema.SecretRequest,
        answer=schema.SecretMade,
        problems=(400, 403, 404, 413, 422),
    ),
    Route(
        "DELETE",
        f"{CHANNEL}/old-secret",
        Access.SESSION,
        channels.delete_old_secret,
        "Sign under the newest secret alone",
        problems=(403, 404),
    ),
    Route(
        "POST",
        f"{CHANNEL}/test",
        Access.SESSION,
        channels.post_test,
        "Send a test message now, and tell how that went",
        answer=schema.DeliveryInfo,
        problems=(403, 404, 503),
    ),
    Route(
        "GET",
        f"{API}/deliveries",
        Access.READ,
        deliveries.get_deliveries,
        "Messages and the attempts to deliver them, newest first",
        query=schema.DeliveriesQuery,
        answer=list[schema.DeliveryInfo],
        problems=(400,),
    ),
    Route(
        "GET",
        DELIVERY,
        Access.READ,
        deliveries.get_delivery,
        "One message with all that it tells",
        answer=schema.DeliveryDetail,
        problems=(404,),
    ),
    Route(
        "POST",
        f"{DELIVERY}/resend",
        Access.SESSION,
        deliveries.post_resend,
        "Send a message once more, under the same webhook-id",
        answer=schema.DeliveryInfo,
        problems=(403, 404, 422),
    ),
)
