"""Text: a sentence that can still be said in every language.

It holds an English template with named fields and the values of these fields, not yet formatted. As a ``str`` it is
its English sentence; ``render`` puts the same values into the template that a catalogue has for the English one. What
is stored is ``message``, so that a verdict can be read later in another language than when it was made.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from gapscope_backend.analysis.language.tags import DEFAULT_LANGUAGE, Language
from gapscope_backend.analysis.language.zh_hans import CATALOGUE

Value: TypeAlias = "str | int | float | Sequence[str]"
"""What a field takes: a ``Text`` is put into the reader's language first, a sequence joined by the field's format."""

CATALOGUES: dict[Language, Mapping[str, str]] = {"zh-Hans": CATALOGUE}


_MESSAGE = {"text", "values"}


class _Formatter(string.Formatter):
    """The format language of ``str.format``, and three more: ``{x!u}`` and ``{x!l}`` make the first letter large or
    small, and the format of a sequence is what stands between its parts (``{parts:, }``)."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        return kwargs[field_name], field_name  # names alone: what was stored must not reach into objects

    def convert_field(self, value: Any, conversion: Any) -> Any:
        if conversion in ("u", "l"):
            first = value[:1].upper() if conversion == "u" else value[:1].lower()
            return first + value[1:]
        return super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> Any:
        return format_spec.join(value) if isinstance(value, tuple) else super().format_field(value, format_spec)


_FORMATTER = _Formatter()


def fields_of(template: str) -> frozenset[str]:
    """Names of a template's fields."""
    return frozenset(name for _, name, _, _ in _FORMATTER.parse(template) if name is not None)


class Text(str):
    """``Text("{gpu} waited {share:.0%} of the time", gpu=name, share=0.4)``; the English sentence as a ``str``.

    A text without values stands as it is, braces too. Raises KeyError for a field without a value.
    """

    __slots__ = ("template", "values")
    template: str
    values: dict[str, Value]

    def __new__(cls, template: str, /, **values: Value) -> Text:  # noqa: D102 - the class says it
        text = super().__new__(cls, _filled(template, values, DEFAULT_LANGUAGE))
        text.template, text.values = template, values
        return text

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Value]]:
        return (self.template,), self.values

    def of(self, **values: Value) -> Text:
        """This template with values, for templates that stand in a table."""
        return Text(self.template, **values)

    def render(self, language: Language) -> str:
        """The sentence in a language; in English where the catalogue lacks it (an older version's stored text)."""
        if language == DEFAULT_LANGUAGE:
            return str(self)
        return _filled(CATALOGUES[language].get(self.template, self.template), self.values, language)

    def message(self) -> dict[str, Any]:
        """As plain data that ``read_message`` takes: template and values."""
        return {"text": self.template, "values": {name: _plain(value) for name, value in self.values.items()}}


def read_message(data: Any) -> Text:
    """The text of a message, or of a finished sentence (an answer's, or a stored one of an older version).

    Raises ValueError for anything else.
    """
    if isinstance(data, str):
        return Text(data)
    if isinstance(data, dict) and isinstance(data.get("text"), str) and isinstance(data.get("values"), dict):
        return Text(data["text"], **{name: _value(value) for name, value in data["values"].items()})
    raise ValueError("this is no text and no message")


def rendered(data: Any, language: Language) -> Any:
    """Plain data (dicts, lists, tuples and what they hold) with its texts and messages in a language."""
    if isinstance(data, dict):
        if data.keys() == _MESSAGE:
            return read_message(data).render(language)
        return {key: rendered(value, language) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [rendered(value, language) for value in data]
    return data.render(language) if isinstance(data, Text) else data


def _filled(template: str, values: Mapping[str, Value], language: Language) -> str:
    if not values:
        return template
    return _FORMATTER.vformat(template, (), {name: _said(value, language) for name, value in values.items()})


def _said(value: Value, language: Language) -> Any:
    if isinstance(value, str):
        return value.render(language) if isinstance(value, Text) else value
    if isinstance(value, Sequence):
        return tuple(_said(part, language) for part in value)
    return value


def _plain(value: Value) -> Any:
    """A value as plain data: a text as its message, so that a name stays a name."""
    if isinstance(value, str):
        return value.message() if isinstance(value, Text) else value
    if isinstance(value, Sequence):
        return [_plain(part) for part in value]
    return float(value) if isinstance(value, float) else int(value)


def _value(data: Any) -> Value:
    if isinstance(data, list):
        return [_name(part) for part in data]
    return data if isinstance(data, int | float) else _name(data)


def _name(data: Any) -> str:
    return data if isinstance(data, str) else read_message(data)
