"""Texts in encoded data: the hooks that msgspec asks for a type that it does not know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gapscope_backend.analysis.language.tags import Language
from gapscope_backend.analysis.language.text import Text, read_message


def as_message(value: Any) -> Any:
    """``enc_hook`` of what is stored: texts as messages, to be read in any language later."""
    if isinstance(value, Text):
        return value.message()
    raise NotImplementedError(f"a {type(value).__name__} cannot be encoded")


def spoken(language: Language) -> Callable[[Any], Any]:
    """``enc_hook`` of what a reader gets: texts as sentences."""

    def hook(value: Any) -> Any:
        if isinstance(value, Text):
            return value.render(language)
        raise NotImplementedError(f"a {type(value).__name__} cannot be encoded")

    return hook


def from_message(kind: type[Any], data: Any) -> Any:
    """``dec_hook`` of both: a message, or a finished sentence, as a text."""
    if kind is Text:
        return read_message(data)
    raise NotImplementedError(f"a {kind.__name__} cannot be decoded")


def schema_of_text(kind: type[Any]) -> dict[str, Any]:
    """``schema_hook``: a reader gets a string."""
    if kind is Text:
        return {"type": "string"}
    raise NotImplementedError(f"a {kind.__name__} has no schema")
