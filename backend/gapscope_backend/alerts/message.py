"""What a message tells, before it is put into the form of any channel.

It is written down whole with the transitions that it tells of, so that a retry tomorrow says what was true today.
Texts are kept as messages of ``analysis.language``: a channel says them in its own language.
"""

from __future__ import annotations

from typing import Any

import msgspec

from gapscope_backend.analysis.language import Text, as_message, from_message

FIRING = "firing"
RESOLVED = "resolved"
TEST = "test"
HEARTBEAT = "heartbeat"
MESSAGE_VERSION = 1

_BLOCKS = "▁▂▃▄▅▆▇█"
NO_VALUE = "·"
SPARKLINE_LENGTH = 24


class LedgerLine(msgspec.Struct, kw_only=True):
    """A row of the ledger: seconds and ``share`` (0..1) of the GPU time that it was reckoned over."""

    cause: str
    title: Text
    row_class: str
    gpu_seconds: float
    share: float


class Sparkline(msgspec.Struct, kw_only=True):
    """``text``: SPARKLINE_LENGTH block characters, ``·`` where nothing was measured; ``scale`` says what they show."""

    text: str
    scale: Text


class AlertLine(msgspec.Struct, kw_only=True):
    """One of the alerts that a message tells of. ``unit`` is the catalogue's, for ``value`` and ``threshold``.

    ``host`` is the name; ``subject`` a GPU's key, a job or empty, and ``subject_name`` how people call it.
    """

    id: str
    host: str
    subject: str
    subject_name: Text
    state: str
    sentence: Text
    value: float | None
    threshold: float | None
    unit: str
    began_ns: int
    ended_ns: int | None = None
    labels: dict[str, str] = {}


class Message(msgspec.Struct, kw_only=True):
    """One message of a group of alerts.

    ``state`` is ``firing`` while any of them fires, else ``resolved``; ``test`` and ``heartbeat`` come from no rule.
    ``started_ns`` is when the oldest began and ``ended_ns`` when the last was over, both data time. ``host`` is empty
    where the alerts are of several. What is not known is empty: ``cause``, ``ledger``, ``top_stack``, ``sparkline``
    (None), ``confidence`` (None). ``count`` is that of all alerts of the group; ``alerts`` holds the first of them.
    ``sequence`` counts the messages of this group; ``repeat_seconds`` is after how long an unchanged state is told
    again (0: never). ``language`` is that of the channel.
    """

    version: int = MESSAGE_VERSION
    state: str
    rule: str
    rule_name: str
    severity: str
    group_key: str
    sequence: int
    sentence: Text
    started_ns: int
    ended_ns: int | None
    host: str
    subjects: list[str]
    cause: str
    cause_title: Text
    row_class: str
    confidence: float | None
    ledger: list[LedgerLine]
    top_stack: list[str]
    sparkline: Sparkline | None
    link: str
    silence_link: str
    alerts: list[AlertLine]
    count: int
    labels: dict[str, str] = {}
    repeat_seconds: float = 0.0
    language: str = "en"


def to_plain(message: Message) -> dict[str, Any]:
    """As plain data to be stored: texts as messages."""
    return dict(msgspec.to_builtins(message, enc_hook=as_message))


def from_plain(data: Any) -> Message:
    """A stored message. Raises msgspec.ValidationError for anything else."""
    return msgspec.convert(data, Message, dec_hook=from_message)


def blocks(values: list[float | None]) -> str:
    """Ratios (0..1) as block characters; None as ``·``."""
    return "".join(
        NO_VALUE if value is None else _BLOCKS[min(7, max(0, round(value * (len(_BLOCKS) - 1))))] for value in values
    )
