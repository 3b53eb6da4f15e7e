"""Channels as people make them: checked before they are kept, tested through the path that messages take.

A secret that is made here is told once. What is kept of a channel is never told whole again: an address of a chat
service is a secret too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from gapscope_backend.alerts.channels import KINDS, ChannelKind, SecretUse, Settings
from gapscope_backend.alerts.channels.kind import MIN_HEARTBEAT_SECONDS
from gapscope_backend.alerts.delivery import LEASE_NS, Deliveries
from gapscope_backend.alerts.egress import Egress, EgressError
from gapscope_backend.alerts.own_messages import message_of_test, new_message_id
from gapscope_backend.alerts.signing import key_of, new_secret
from gapscope_backend.analysis.language import Language
from gapscope_backend.errors import MalformedError, NotFoundError, UnprocessableError
from gapscope_backend.store.alert_models import Channel, Delivery
from gapscope_backend.store.channels import channel_of, delete_channel, list_channels, locked_channel
from gapscope_backend.store.database import Database
from gapscope_backend.store.deliveries import PENDING, add_delivery, delivery_of

MOST_CHANNELS = 200
_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_HEADER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
_HEADER_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?")
_OURS = ("webhook-", "content-", "transfer-", "proxy-", "sec-")
_OUR_HEADERS = frozenset(
    {"host", "connection", "upgrade", "te", "trailer", "expect", "keep-alive", "user-agent", "accept-encoding"}
)
_GIVEN_SECRET = re.compile(r"[\x21-\x7e]{8,256}")


@dataclass(frozen=True)
class ChannelWish:
    """How a channel is to be. None leaves ``url``, ``headers`` and ``secret`` as they are."""

    kind: str
    name: str
    enabled: bool
    url: str | None
    headers: dict[str, str] | None
    secret: str | None
    language: Language
    heartbeat_seconds: int
    alerts: bool


@dataclass(frozen=True)
class Channels:
    """The channels in a database. ``clock`` gives ns since the epoch, ``monotonic`` seconds."""

    database: Database
    egress: Egress
    clock: Callable[[], int]
    monotonic: Callable[[], float]

    async def put(self, channel_id: str, wish: ChannelWish) -> tuple[Channel, str | None]:
        """Make or change a channel; with it the secret that was made for it, told this once.

        Raises UnprocessableError for what its kind does not take, and for an address that may not be reached.
        """
        if not _ID.fullmatch(channel_id):
            raise MalformedError("the id of a channel is made of a-z, 0-9, dot, - and _, at most 64 of them", "channel")
        before = await channel_of(self.database, channel_id)
        settings, kept, made = _checked(wish, before)
        if settings.url and (before is None or settings.url != before.settings.get("url")):
            await self._check_url(settings.url)
        async with self.database.write() as session:
            channel = await locked_channel(session, channel_id)
            if (channel is None) != (before is None) or (channel and before and channel.revision != before.revision):
                raise UnprocessableError(f"channel {channel_id} was changed by somebody else meanwhile; look again")
            if channel is None:
                channel = Channel(id=channel_id, kind=wish.kind, origin="api", revision=0, secrets=[])
                session.add(channel)
            channel.name, channel.enabled = wish.name, wish.enabled
            channel.settings, channel.secrets = msgspec.to_builtins(settings), kept
            channel.revision, channel.updated_ns = channel.revision + 1, self.clock()
        if before is None and len(await list_channels(self.database)) > MOST_CHANNELS:
            await delete_channel(self.database, channel_id)
            raise UnprocessableError(f"there are {MOST_CHANNELS} channels already; delete one first")
        return channel, made

    async def rotate(self, channel_id: str, secret: str | None) -> str | None:
        """Give a channel a new secret: the one that was made, told this once, or the given one (None then).

        Messages of a webhook are signed under both until ``drop_old_secret``; other targets know one at a time.
        """
        async with self.database.write() as session:
            channel = await locked_channel(session, channel_id)
            if channel is None:
                raise _unknown(channel_id)
            kind = KINDS[channel.kind]
            if kind.secret is SecretUse.NONE:
                raise UnprocessableError(f"a channel of the kind {kind.name} has no secret", "channel")
            if secret is None and kind.secret is not SecretUse.MADE:
                raise UnprocessableError(f"the secret of a {kind.name} channel comes from there; give it", "secret")
            new = new_secret() if secret is None else _given(kind, secret)
            older = channel.secrets[:1] if kind.secret is SecretUse.MADE else []
            channel.secrets = [new, *(one for one in older if one != new)]
            channel.revision, channel.updated_ns = channel.revision + 1, self.clock()
        return new if secret is None else None

    async def drop_old_secret(self, channel_id: str) -> None:
        """Sign under the newest secret alone from now on."""
        async with self.database.write() as session:
            channel = await locked_channel(session, channel_id)
            if channel is None:
                raise _unknown(channel_id)
            channel.secrets = channel.secrets[:1]
            channel.revision, channel.updated_ns = channel.revision + 1, self.clock()

    async def delete(self, channel_id: str) -> None:
        """Forget a channel. Raises NotFoundError where there is none."""
        if not await delete_channel(self.database, channel_id):
            raise _unknown(channel_id)

    async def test(self, channel_id: str, link: str) -> Delivery:
        """Send a test message now, once, switched on or not; how that went stands in the answer's log."""
        channel = await channel_of(self.database, channel_id)
        if channel is None:
            raise _unknown(channel_id)
        now_ns = self.clock()
        delivery = message_of_test(channel, link, now_ns, now_ns + LEASE_NS)
        async with self.database.write() as session:
            await add_delivery(session, self.database.dialect, delivery)
        await Deliveries(self.database, self.egress, self.clock, self.monotonic).attempt(delivery)
        return await self.delivery(delivery.id)

    async def delivery(self, delivery_id: str) -> Delivery:
        """A row of the log. Raises NotFoundError where there is none."""
        found = await delivery_of(self.database, delivery_id)
        if found is None:
            raise NotFoundError(f"no message {delivery_id[:80]!r}; GET /api/v1/deliveries lists them", "delivery")
        return found

    async def resend(self, delivery_id: str) -> Delivery:
        """Send a message once more, under the id that it had: who got it already can tell.

        Raises UnprocessableError while it is still being tried.
        """
        first = await self.delivery(delivery_id)
        if first.state == PENDING:
            raise UnprocessableError("this message is still being tried; its log says when again", "delivery")
        if await channel_of(self.database, first.channel_id) is None:
            raise UnprocessableError(f"the channel {first.channel_id} of this message was deleted", "delivery")
        now_ns = self.clock()
        again = Delivery(
            host_id=first.host_id,
            id=new_message_id(),
            channel_id=first.channel_id,
            group_key=first.group_key,
            kind=first.kind,
            state=PENDING,
            message=first.message,
            alerts=first.alerts,
            created_ns=now_ns,
            due_ns=now_ns,
            attempts=0,
            log=[],
            resend_of=first.resend_of or first.id,
            done_ns=None,
        )
        async with self.database.write() as session:
            await add_delivery(session, self.database.dialect, again)
        return again

    async def _check_url(self, url: str) -> None:
        try:
            await self.egress.check(url)
        except EgressError as error:
            raise UnprocessableError(str(error), "url") from error


def shown_url(url: str) -> str:
    """Of an address the host and its last letters: the rest may be a secret."""
    scheme, _, rest = url.partition("://")
    host, path = re.split(r"(?=[/?#])", f"{rest}/", maxsplit=1)
    if path in ("/", "//"):
        return url
    return f"{scheme}://{host}/…{path[-5:-1] if len(path) > 16 else ''}"


def _checked(wish: ChannelWish, before: Channel | None) -> tuple[Settings, list[str], str | None]:
    """Settings, secrets, and a secret that was made just now."""
    kind = KINDS[wish.kind]
    if before is not None and before.kind != wish.kind:
        raise UnprocessableError(f"this channel is of the kind {before.kind}; make another one instead", "kind")
    kept = msgspec.convert(before.settings, Settings) if before else Settings()
    url = kept.url if wish.url is None else wish.url
    headers = kept.headers if wish.headers is None else wish.headers
    if not url and not kind.own_url:
        raise UnprocessableError(f"a channel of the kind {kind.name} needs a url", "url")
    if headers and not kind.headers:
        raise UnprocessableError(f"a channel of the kind {kind.name} takes no headers", "headers")
    _check_headers(headers)
    if before is not None:
        _check_moved(kind, kept, url, wish)
    if wish.heartbeat_seconds and not kind.heartbeats:
        raise UnprocessableError(f"a channel of the kind {kind.name} takes no heartbeat", "heartbeat_seconds")
    if 0 < wish.heartbeat_seconds < MIN_HEARTBEAT_SECONDS:
        raise UnprocessableError(f"at least {MIN_HEARTBEAT_SECONDS} s lie between heartbeats", "heartbeat_seconds")
    known, made = list(before.secrets) if before else [], None
    if wish.secret is not None:
        known = [_given(kind, wish.secret)]
    elif not known and kind.secret is SecretUse.MADE:
        made = new_secret()
        known = [made]
    elif not known and kind.secret is SecretUse.GIVEN:
        raise UnprocessableError(f"a channel of the kind {kind.name} needs its secret", "secret")
    settings = Settings(
        url=url, language=wish.language, headers=headers, heartbeat_seconds=wish.heartbeat_seconds, alerts=wish.alerts
    )
    return settings, known, made


def _check_moved(kind: ChannelKind, kept: Settings, url: str, wish: ChannelWish) -> None:
    """What was given for one host goes to no other, where whoever changes the address could read it."""
    if _origin(url or kind.own_url) == _origin(kept.url or kind.own_url):
        return
    if kept.headers and wish.headers is None:
        raise UnprocessableError("the address leads to another host now: give the headers for it anew", "headers")
    if kind.secret is SecretUse.GIVEN and wish.secret is None:
        raise UnprocessableError("the address leads to another host now: give the secret for it anew", "secret")


def _origin(url: str) -> str:
    return re.split(r"[/?#]", url.partition("://")[2], maxsplit=1)[0].lower()


def _given(kind: ChannelKind, secret: str) -> str:
    if kind.secret is SecretUse.NONE:
        raise UnprocessableError(f"a channel of the kind {kind.name} has no secret", "secret")
    if kind.secret is SecretUse.MADE:
        key_of(secret)
    elif not _GIVEN_SECRET.fullmatch(secret):
        raise UnprocessableError("a secret has 8 to 256 characters, none of them blank", "secret")
    return secret


def _check_headers(headers: dict[str, str]) -> None:
    for name, value in headers.items():
        plain = name.lower()
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise UnprocessableError(f"header {name[:64]!r}: want a name, and a value of printable ASCII", "headers")
        if plain in _OUR_HEADERS or plain.startswith(_OURS):
            raise UnprocessableError(f"header {name}: this one is set by Gapscope", "headers")


def _unknown(channel_id: str) -> NotFoundError:
    return NotFoundError(f"no channel {channel_id[:64]!r}; GET /api/v1/channels lists them", "channel")
