"""Languages: texts as messages that are put into words where a reader meets them."""

from gapscope_backend.analysis.language.hooks import as_message, from_message, schema_of_text, spoken
from gapscope_backend.analysis.language.tags import (
    DEFAULT_LANGUAGE,
    LANGUAGES,
    Language,
    language_of_environment,
    language_of_header,
    read_language,
)
from gapscope_backend.analysis.language.text import Text, Value, read_message, rendered

__all__ = [
    "DEFAULT_LANGUAGE",
    "LANGUAGES",
    "Language",
    "Text",
    "Value",
    "as_message",
    "from_message",
    "language_of_environment",
    "language_of_header",
    "read_language",
    "read_message",
    "rendered",
    "schema_of_text",
    "spoken",
]
