"""Columns of a terminal: Chinese characters take two."""

from __future__ import annotations

import textwrap
import unicodedata

from gapscope_backend.analysis.language import Language


def width(text: str) -> int:
    """Columns that ``text`` takes."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def left(text: str, columns: int) -> str:
    """``text`` with spaces after it, or cut short with an ellipsis."""
    return (shown := _cut(text, columns)) + " " * (columns - width(shown))


def right(text: str, columns: int) -> str:
    """``text`` with spaces before it; it is never cut."""
    return " " * max(0, columns - width(text)) + text


def wrapped(text: str, columns: int, indent: str, first: str, language: Language) -> list[str]:
    """Lines of at most ``columns``; Chinese breaks between any two characters, but not before punctuation."""
    if language == "en":
        return textwrap.wrap(text, columns, initial_indent=first, subsequent_indent=indent)
    lines, line = [], first
    for word in _words(text):
        if width(line) + width(word) > columns and line.strip() and word not in _CLOSING:
            lines.append(line.rstrip())
            line, word = indent, word.lstrip()
        line += word
    return [*lines, line.rstrip()]


_CLOSING = frozenset("，。；：、）！？”")


def _words(text: str) -> list[str]:
    """Runs of narrow characters up to a space, and wide characters one by one."""
    words: list[str] = []
    for character in text:
        if words and width(character) == 1 and words[-1] != " " and width(words[-1][-1]) == 1 and character != " ":
            words[-1] += character
        else:
            words.append(character)
    return words


def _cut(text: str, columns: int) -> str:
    if width(text) <= columns:
        return text
    short = text
    while width(short) > columns - 1:
        short = short[:-1]
    return short + "…"
