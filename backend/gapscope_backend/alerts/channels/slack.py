"""Slack's incoming webhooks: blocks, whose words are plain text, so that no name in them becomes markup or a mention.

Limits of Slack: 50 blocks, 150 characters of a header, 3,000 of a text.
"""

from __future__ import annotations

from typing import Any

from gapscope_backend.alerts.channels.kind import ChannelKind, Envelope, Outgoing, SecretUse, encode
from gapscope_backend.alerts.message import Message
from gapscope_backend.alerts.wording import Link, Wording, cut, word

HEADER_LENGTH = 150
TEXT_LENGTH = 3000
CODE_LENGTH = 2400
"""Of lines in a code block before they are escaped; what escaping adds is looked at again."""
_LINE_LENGTH = 200
_LINK_LENGTH = 700


def build(message: Message, envelope: Envelope) -> Outgoing:
    """A header, the sentence, the facts, each section as preformatted lines, and the links."""
    words = word(message)
    blocks = [
        {"type": "header", "text": _plain(words.title, HEADER_LENGTH)},
        {"type": "section", "text": _plain(words.sentence, TEXT_LENGTH)} if words.sentence else None,
        _facts(words),
        *(_section(title, lines) for title, lines in words.sections),
        _links(words.links),
    ]
    body = {
        "text": escape(cut(words.in_short, TEXT_LENGTH // 5)),
        "blocks": [block for block in blocks if block is not None],
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return Outgoing(envelope.settings.url, encode(body))


def escape(text: str) -> str:
    """The three characters that Slack reads as the beginning of something, as it asks for."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _plain(text: str, length: int) -> dict[str, Any]:
    return {"type": "plain_text", "text": cut(text, length), "emoji": False}


def _markup(text: str) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _facts(words: Wording) -> dict[str, Any] | None:
    if not words.facts:
        return None
    return {"type": "context", "elements": [_plain(line, _LINE_LENGTH) for line in words.fact_lines]}


def _section(title: str, lines: tuple[str, ...]) -> dict[str, Any]:
    """Lines as they are: in a code block only its own end means something."""
    code = "\n".join(cut(line, _LINE_LENGTH) for line in lines).replace("```", "'''")
    length = CODE_LENGTH
    while len(escape(cut(code, length))) > CODE_LENGTH:
        length = length * 3 // 4
    name = escape(cut(title, _LINE_LENGTH).translate(_NO_MARKUP))
    return {"type": "section", "text": _markup(f"{name}\n```{escape(cut(code, length))}```")}


def _links(links: tuple[Link, ...]) -> dict[str, Any] | None:
    shown = [f"<{_address(link.url)}|{escape(link.label)}>" for link in links if len(link.url) <= _LINK_LENGTH]
    return {"type": "section", "text": _markup("   ".join(shown))} if shown else None


def _address(url: str) -> str:
    return url.replace("<", "%3C").replace(">", "%3E").replace("|", "%7C").replace("&", "&amp;")


_NO_MARKUP = {ord(letter): " " for letter in "*_~`"}

SLACK = ChannelKind("slack", build, SecretUse.NONE)
