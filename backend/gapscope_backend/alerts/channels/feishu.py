"""Bots of Feishu and Lark: a rich text, whose ``text`` parts are shown as they are, except for ``<at ...>``.

The bot's signing secret is optional: HMAC-SHA256 under "time, newline, secret" over nothing. A request holds 20 kB.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from typing import Any

from gapscope_backend.alerts.channels.kind import ChannelKind, Envelope, Outgoing, SecretUse, answered, encode
from gapscope_backend.alerts.message import Message
from gapscope_backend.alerts.wording import Wording, cut, language_of, line_of, word

MAX_BYTES = 20_000
_LINE_LENGTH = 200
_SENTENCE_LENGTH = 1000
_AT = re.compile(r"<(?=/?\s*at\b)", re.IGNORECASE)
_LOCALES = {"en": "en_us", "zh-Hans": "zh_cn"}


def build(message: Message, envelope: Envelope) -> Outgoing:
    """A title and lines; the least important ones are left out where they would not fit."""
    words = word(message)
    lines = _lines(words)
    while True:
        body = encode(_body(words.title, lines, _LOCALES[language_of(message)], envelope))
        if len(body) <= MAX_BYTES or len(lines) <= 1:
            return Outgoing(envelope.settings.url, body)
        lines = lines[:-1]


def sign(secret: str, timestamp: int) -> str:
    """The bot's signature at a time (seconds)."""
    return base64.b64encode(hmac.digest(f"{timestamp}\n{secret}".encode(), b"", hashlib.sha256)).decode()


def refusal(body: bytes) -> str:
    """A bot answers 200 whatever happens; the code tells."""
    told = answered(body)
    code = told.get("code", told.get("StatusCode"))
    if code == 0:
        return ""
    return "an answer without a code" if code is None else f"code {code}: {line_of(str(told.get('msg', '')))[:100]}"


def _body(title: str, lines: list[list[dict[str, str]]], locale: str, envelope: Envelope) -> dict[str, Any]:
    post = {locale: {"title": _shown(title), "content": lines}}
    body: dict[str, Any] = {"msg_type": "post", "content": {"post": post}}
    if envelope.secrets:
        timestamp = envelope.now_ns // 10**9
        body |= {"timestamp": str(timestamp), "sign": sign(envelope.secrets[0], timestamp)}
    return body


def _lines(words: Wording) -> list[list[dict[str, str]]]:
    """The links stand before the sections: those may be cut."""
    texts = [cut(words.sentence, _SENTENCE_LENGTH), *words.fact_lines]
    links = [[{"tag": "a", "text": link.label, "href": link.url}] for link in words.links]
    for title, lines in words.sections:
        texts += [title, *(f"  {line}" for line in lines)]
    shown = [[{"tag": "text", "text": _shown(cut(text, _SENTENCE_LENGTH))}] for text in texts]
    before = 1 + len(words.facts)
    return [*shown[:before], *links, *shown[before:]]


def _shown(text: str) -> str:
    return _AT.sub("＜", text)


FEISHU = ChannelKind("feishu", build, SecretUse.OPTIONAL, refusal)
