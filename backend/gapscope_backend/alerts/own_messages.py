"""Messages that come from no rule: the test of a channel, and the heartbeat."""

from __future__ import annotations

import hashlib
import secrets

from gapscope_backend.alerts.message import HEARTBEAT, TEST, Message, to_plain
from gapscope_backend.analysis.language import Text
from gapscope_backend.store.alert_models import Channel, Delivery

_TEST = Text("This is a test of the channel {channel}: messages of Gapscope arrive here.")
_ALIVE = Text("Gapscope works. This comes every {seconds} s, and stops when Gapscope does.")
_NOTHING = Text("")
ALL_HOSTS = 0


def new_message_id() -> str:
    """An id that no other message has."""
    return f"msg_{secrets.token_hex(16)}"


def message_of_test(channel: Channel, link: str, now_ns: int, due_ns: int) -> Delivery:
    """A test of a channel, begun already by whoever asks for it."""
    message = _message(TEST, _TEST.of(channel=channel.name or channel.id), channel, link, now_ns)
    return _delivery(new_message_id(), channel, message, now_ns, due_ns, attempts=1)


def message_of_heartbeat(channel: Channel, seconds: int, now_ns: int) -> Delivery:
    """The heartbeat of this time; made twice it is the same one."""
    told = f"{HEARTBEAT} {channel.id} {now_ns // (seconds * 10**9)}"
    message = _message(HEARTBEAT, _ALIVE.of(seconds=seconds), channel, "", now_ns)
    return _delivery(f"msg_{hashlib.sha256(told.encode()).hexdigest()[:32]}", channel, message, now_ns, now_ns)


def _message(state: str, sentence: Text, channel: Channel, link: str, now_ns: int) -> Message:
    return Message(
        state=state,
        rule="",
        rule_name="",
        severity="info",
        group_key=f"{state}/{channel.id}",
        sequence=0,
        sentence=sentence,
        started_ns=now_ns,
        ended_ns=None,
        host="",
        subjects=[],
        cause="",
        cause_title=_NOTHING,
        row_class="",
        confidence=None,
        ledger=[],
        top_stack=[],
        sparkline=None,
        link=link,
        silence_link="",
        alerts=[],
        count=0,
        language=channel.settings.get("language", "en"),
    )


def _delivery(
    message_id: str, channel: Channel, message: Message, now_ns: int, due_ns: int, attempts: int = 0
) -> Delivery:
    return Delivery(
        host_id=ALL_HOSTS,
        id=message_id,
        channel_id=channel.id,
        group_key=message.group_key,
        kind=message.state,
        state="pending",
        message=to_plain(message),
        alerts=[],
        created_ns=now_ns,
        due_ns=due_ns,
        attempts=attempts,
        log=[],
        resend_of="",
        done_ns=None,
    )
