"""``gapscope alerts channels|test|deliveries|resend``: who is told, and what became of what was sent.

They work on the server's database, whether or not it runs. Secrets and secret addresses are read from files, not from
the command line, which other users of the machine see; one that is made is printed this once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapscope_backend.cli.arguments import add_known_data_option
from gapscope_backend.cli.database import add_database_options, database_of, read_server_file
from gapscope_backend.cli.errors import UsageError

if TYPE_CHECKING:
    from gapscope_backend.services.channels import Channels
    from gapscope_backend.store.alert_models import Channel, Delivery

KINDS = ("webhook", "slack", "feishu", "dingtalk", "pagerduty", "alertmanager")
STATES = ("pending", "delivered", "failed", "superseded")
MESSAGES = ("firing", "resolved", "test", "heartbeat")


def add_actions(actions: Any) -> None:
    """The actions of this half, beside the others of ``gapscope alerts``."""
    channels = actions.add_parser("channels", help="list, make, change and forget channels, and change their secrets")
    inner = channels.add_subparsers(dest="channel_action", metavar="ACTION")
    _common(channels)
    _add_put(inner.add_parser("put", help="make a channel, or change what is given of one"))
    for name, summary in (
        ("rotate", "give a channel a new secret; a webhook is signed under both until `drop-old-secret`"),
        ("drop-old-secret", "sign under the newest secret alone"),
        ("delete", "forget a channel"),
    ):
        action = inner.add_parser(name, help=summary)
        action.add_argument("channel", metavar="CHANNEL")
        _common(action)
        if name == "rotate":
            _add_file(action, "--secret-file", "the new secret, where it comes from the target")
    test = actions.add_parser("test", help="send a test message now; exit code 1 when it did not arrive")
    test.add_argument("channel", metavar="CHANNEL")
    _common(test)
    log = actions.add_parser("deliveries", help="messages and the attempts to deliver them, newest first")
    log.add_argument("--channel", metavar="CHANNEL", help="to that one alone")
    log.add_argument("--state", choices=STATES)
    log.add_argument("--kind", choices=MESSAGES, help="heartbeats are listed only with it")
    log.add_argument("--limit", type=int, default=20, help="how many (default: 20)")
    log.add_argument("--json", action="store_true", help="one line of JSON")
    _common(log)
    resend = actions.add_parser("resend", help="send a message once more, under the same webhook-id")
    resend.add_argument("delivery", metavar="DELIVERY", help="its id, as `gapscope alerts deliveries` shows it")
    _common(resend)


def _common(parser: argparse.ArgumentParser) -> None:
    add_known_data_option(parser)
    add_database_options(parser)


def _add_file(parser: argparse.ArgumentParser, name: str, about: str) -> None:
    parser.add_argument(name, metavar="FILE", help=f"file that holds {about}; - is the standard input")


def _add_put(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("channel", metavar="CHANNEL", help="its id: a-z, 0-9, dot, - and _")
    parser.add_argument("--kind", choices=KINDS, help="of a new one")
    parser.add_argument("--name", help="how people call it")
    parser.add_argument("--url", help="its address; one that is a secret stands better in --url-file")
    _add_file(parser, "--url-file", "its address")
    _add_file(parser, "--secret-file", "its secret, where that comes from the target")
    parser.add_argument("--language", choices=("en", "zh-Hans"), help="of its messages")
    parser.add_argument("--headers-file", type=Path, metavar="FILE", help="JSON object of headers that go along")
    parser.add_argument("--heartbeat", type=int, metavar="SECONDS", help="a heartbeat that often; 0: none")
    parser.add_argument("--alerts", action=argparse.BooleanOptionalAction, help="whether it gets alerts")
    parser.add_argument("--enabled", action=argparse.BooleanOptionalAction, help="whether it gets anything")
    _common(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do the chosen action; they are the keys of ``ACTIONS``."""
    return asyncio.run(ACTIONS[arguments.action](arguments))


async def _channels(arguments: argparse.Namespace) -> int:
    async with _opened(arguments) as channels:
        return await _CHANNEL_ACTIONS[arguments.channel_action or "list"](channels, arguments)


async def _list(channels: Channels, _arguments: argparse.Namespace) -> int:
    from gapscope_backend.store.channels import list_channels

    found = await list_channels(channels.database)
    if not found:
        print("no channels yet; gapscope alerts channels put makes one")
    for channel in found:
        print(_line(channel))
    return 0


async def _put(channels: Channels, arguments: argparse.Namespace) -> int:
    from gapscope_backend.services.channels import ChannelWish
    from gapscope_backend.store.channels import channel_of

    known = await channel_of(channels.database, arguments.channel)
    if known is None and arguments.kind is None:
        raise UsageError(f"there is no channel {arguments.channel} yet; give its --kind")
    settings = known.settings if known else {}

    def given(value: Any, kept: Any) -> Any:
        return kept if value is None else value

    wish = ChannelWish(
        kind=given(arguments.kind, known.kind if known else ""),
        name=given(arguments.name, known.name if known else ""),
        enabled=given(arguments.enabled, known.enabled if known else True),
        url=arguments.url or _read(arguments.url_file),
        headers=None if arguments.headers_file is None else _headers(arguments.headers_file),
        secret=_read(arguments.secret_file),
        language=given(arguments.language, settings.get("language", "en")),
        heartbeat_seconds=given(arguments.heartbeat, settings.get("heartbeat_seconds", 0)),
        alerts=given(arguments.alerts, settings.get("alerts", True)),
    )
    channel, secret = await channels.put(arguments.channel, wish)
    print(_line(channel))
    _tell_secret(secret)
    return 0


async def _rotate(channels: Channels, arguments: argparse.Namespace) -> int:
    _tell_secret(await channels.rotate(arguments.channel, _read(arguments.secret_file)))
    return 0


async def _drop_old_secret(channels: Channels, arguments: argparse.Namespace) -> int:
    await channels.drop_old_secret(arguments.channel)
    return 0


async def _delete(channels: Channels, arguments: argparse.Namespace) -> int:
    await channels.delete(arguments.channel)
    return 0


async def _test(arguments: argparse.Namespace) -> int:
    async with _opened(arguments) as channels:
        row = await channels.test(arguments.channel, "")
    last = row.log[-1]
    if row.state == "delivered":
        print(f"{arguments.channel}: delivered in {last['milliseconds']:.0f} ms, status {last['status']}")
        return 0
    sys.stderr.write(f"{arguments.channel}: {last['error']}\n")
    return 1


async def _deliveries(arguments: argparse.Namespace) -> int:
    from gapscope_backend.store.deliveries import DeliveryFilter, list_deliveries

    wanted = DeliveryFilter(arguments.channel, arguments.state, arguments.kind, max(1, arguments.limit))
    async with _opened(arguments) as channels:
        rows = await list_deliveries(channels.database, wanted)
    if arguments.json:
        json.dump([_plain(row) for row in rows], sys.stdout)
        print()
    elif not rows:
        print("nothing was sent yet")
    else:
        for row in rows:
            print(_delivery_line(row))
    return 0


async def _resend(arguments: argparse.Namespace) -> int:
    async with _opened(arguments) as channels:
        row = await channels.resend(arguments.delivery)
    print(f"{row.id}: a worker of the server sends it now")
    return 0


@asynccontextmanager
async def _opened(arguments: argparse.Namespace) -> AsyncIterator[Channels]:
    from gapscope_backend.alerts.addresses import read_allow_list
    from gapscope_backend.alerts.egress import Egress
    from gapscope_backend.services.channels import Channels
    from gapscope_backend.store.database import open_database

    egress = Egress(read_allow_list(read_server_file(arguments.config).webhook_allow or ()))
    database = await open_database(database_of(arguments))
    try:
        yield Channels(database, egress, time.time_ns, time.monotonic)
    finally:
        await database.close()


def _read(name: str | None) -> str | None:
    if name is None:
        return None
    return (sys.stdin.read() if name == "-" else Path(name).read_text()).strip()


def _headers(path: Path) -> dict[str, str]:
    try:
        found = json.loads(path.read_text())
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise UsageError(f"{path}: want a JSON object of header names and their values")
    return found


def _tell_secret(secret: str | None) -> None:
    if secret is not None:
        print(f"secret, shown this once: {secret}")


def _line(channel: Channel) -> str:
    from gapscope_backend.alerts.channels import KINDS as KNOWN
    from gapscope_backend.services.channels import shown_url

    state = "on" if channel.enabled else "off"
    url = shown_url(channel.settings.get("url") or KNOWN[channel.kind].own_url)
    more = [f"{len(channel.secrets)} secrets"] if len(channel.secrets) > 1 else []
    beat = channel.settings.get("heartbeat_seconds", 0)
    more += [f"heartbeat every {beat} s"] if beat else []
    more += [] if channel.settings.get("alerts", True) else ["no alerts"]
    return "  ".join([f"{channel.id:20s}", f"{channel.kind:12s}", f"{state:3s}", url, *more])


def _delivery_line(row: Delivery) -> str:
    from gapscope_backend.services.times import iso

    last = row.log[-1] if row.log else None
    said = "" if last is None else last["error"] or f"status {last['status']}"
    when = f", next {iso(row.due_ns)[:19]}Z" if row.state == "pending" else ""
    return f"{iso(row.created_ns)[:19]}Z  {row.id}  {row.channel_id}  {row.kind}  {row.state}{when}  {said}".rstrip()


def _plain(row: Delivery) -> dict[str, Any]:
    names = ("id", "channel_id", "group_key", "kind", "state", "alerts", "created_ns", "due_ns", "done_ns", "attempts")
    return {**{name: getattr(row, name) for name in names}, "log": row.log, "resend_of": row.resend_of or None}


ACTIONS: dict[str, Callable[[argparse.Namespace], Coroutine[Any, Any, int]]] = {
    "channels": _channels,
    "test": _test,
    "deliveries": _deliveries,
    "resend": _resend,
}
_CHANNEL_ACTIONS: dict[str, Callable[[Channels, argparse.Namespace], Awaitable[int]]] = {
    "list": _list,
    "put": _put,
    "rotate": _rotate,
    "drop-old-secret": _drop_old_secret,
    "delete": _delete,
}
