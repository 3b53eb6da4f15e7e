"""Bots of DingTalk: markdown, every word of ours escaped, signed in the query of the address. A request holds 20 kB."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from typing import Any
from urllib.parse import quote, quote_plus

from gapscope_backend.alerts.channels.kind import ChannelKind, Envelope, Outgoing, SecretUse, answered, encode
from gapscope_backend.alerts.message import Message
from gapscope_backend.alerts.wording import Wording, cut, line_of, word

MAX_BYTES = 20_000
_LINE_LENGTH = 200
_SENTENCE_LENGTH = 1000
_MARKUP = re.compile(r"([\\`*_\[\]|~>]|^[#+\-]|^\d+(?=[.)]))")
"""What means something within a line, and what does at its beginning."""
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", "@": "＠"})
"""HTML is let through by markdown, and an @ before a number calls a person."""


def build(message: Message, envelope: Envelope) -> Outgoing:
    """A title and paragraphs; the least important ones are left out where they would not fit."""
    words = word(message)
    parts = _paragraphs(words)
    while True:
        body = encode(_body(words.title, parts))
        if len(body) <= MAX_BYTES or len(parts) <= 1:
            return Outgoing(_address(envelope), body)
        parts = parts[:-1]


def sign(secret: str, timestamp_ms: int) -> str:
    """The bot's signature at a time (milliseconds)."""
    text = f"{timestamp_ms}\n{secret}"
    return base64.b64encode(hmac.digest(secret.encode(), text.encode(), hashlib.sha256)).decode()


def refusal(body: bytes) -> str:
    """A bot answers 200 whatever happens; the code tells."""
    told = answered(body)
    code = told.get("errcode")
    if code == 0:
        return ""
    return "an answer without a code" if code is None else f"code {code}: {line_of(str(told.get('errmsg', '')))[:100]}"


def escape(text: str) -> str:
    """A text that markdown shows as it is."""
    return _MARKUP.sub(_escaped, text).translate(_ENTITIES)


def _escaped(found: re.Match[str]) -> str:
    return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"


def _address(envelope: Envelope) -> str:
    url = envelope.settings.url
    if not envelope.secrets:
        return url
    timestamp = envelope.now_ns // 10**6
    joint = "&" if "?" in url else "?"
    return f"{url}{joint}timestamp={timestamp}&sign={quote_plus(sign(envelope.secrets[0], timestamp))}"


def _body(title: str, parts: list[str]) -> dict[str, Any]:
    return {
        "msgtype": "markdown",
        "markdown": {"title": cut(title, 64), "text": "\n\n".join(parts)},
        "at": {"isAtAll": False},
    }


def _paragraphs(words: Wording) -> list[str]:
    """The links stand before the sections: those may be cut."""
    title = f"### {escape(cut(words.title, _LINE_LENGTH))}"
    facts = (escape(cut(line, _LINE_LENGTH)) for line in words.fact_lines)
    links = " ".join(f"[{escape(link.label)}]({quote(link.url, safe=_IN_URL)})" for link in words.links)
    sections = []
    for name, lines in words.sections:
        sections += [f"**{escape(name)}**", *(escape(cut(line, _LINE_LENGTH)) for line in lines)]
    found = [title, escape(cut(words.sentence, _SENTENCE_LENGTH)), *facts, links, *sections]
    return [part for part in found if part]


_IN_URL = ":/?#[]@!$&'*+,;=%~"

DINGTALK = ChannelKind("dingtalk", build, SecretUse.OPTIONAL, refusal)
