"""Which language a tag, an environment or a browser asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Language = Literal["en", "zh-Hans"]

DEFAULT_LANGUAGE: Language = "en"
LANGUAGES: tuple[Language, ...] = ("en", "zh-Hans")
_TRADITIONAL = frozenset({"hant", "tw", "hk", "mo"})


def read_language(tag: str) -> Language | None:
    """The language of a tag such as ``zh-CN``, ``zh_CN.UTF-8`` or ``en-GB``; None for one that is not spoken here.

    Chinese is Simplified Chinese unless the tag asks for the traditional script or a territory that writes it.
    """
    parts = tag.strip().partition(".")[0].partition("@")[0].replace("_", "-").lower().split("-")
    if parts[0] == "en":
        return "en"
    if parts[0] == "zh" and ("hans" in parts or not _TRADITIONAL.intersection(parts)):
        return "zh-Hans"
    return None


def language_of_environment(environment: Mapping[str, str]) -> Language:
    """What a terminal's locale asks for: the first of LC_ALL, LC_MESSAGES and LANG that is set; English else."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((environment[name] for name in names if environment.get(name)), "")
    return read_language(locale) or DEFAULT_LANGUAGE


def language_of_header(header: str) -> Language:
    """The best language of an Accept-Language header (RFC 9110); English where none of its languages is spoken."""
    wishes: list[tuple[float, Language]] = []
    for part in header.split(","):
        tag, _, weight = part.partition(";")
        language = read_language(tag)
        quality = _quality(weight)
        if language is not None and quality > 0:
            wishes.append((quality, language))
    return max(wishes, key=lambda wish: wish[0], default=(0.0, DEFAULT_LANGUAGE))[1]


def _quality(weight: str) -> float:
    name, _, value = weight.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
