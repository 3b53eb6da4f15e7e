"""Secrets in command lines are hidden before anything is stored or sent.

Hidden is the value of an option or assignment whose name speaks of a secret (``--token X``, ``--db-password=X``,
``AWS_SECRET_ACCESS_KEY=X``), the password in a URL (``postgres://user:X@host``), a bearer token, and words with the
well-known prefixes of access tokens. A secret given as a bare positional word cannot be told from any other word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

HIDDEN = "[redacted]"

_SECRET_NAME = re.compile(
    r"(password|passwd|passphrase|(^|[-_])pass(?=$|[-_])|(^|[-_])pwd(?=$|[-_])|secret|token|credential"
    r"|api[-_]?key|access[-_]?key|private[-_]?key|(^|[-_])key(?=$)|(^|[-_])auth(?=$|[-_]))",
    re.IGNORECASE,
)
_NOT_SECRET = re.compile(
    r"(tokenizer|(max|min|num|n|eos|bos|pad|stop|new)[-_](new[-_])?tokens?|tokens?[-_](per|count|limit|length|id|ids)"
    r"|[-_](len|length|size|count|ids?)$)",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"(?P<before>[a-z][a-z0-9+.-]*://[^\s/:@]*:)[^\s/@]+(?=@)", re.IGNORECASE)
_BEARER = re.compile(r"(?P<before>\b(?:bearer|basic)\s+)[^\s\"']+", re.IGNORECASE)
_TOKEN_WORD = re.compile(
    r"\b(?:hf_|ghp_|gho_|github_pat_|glpat-|xox[abp]-|sk-|AKIA|eyJ[A-Za-z0-9_-]{10,}\.)[A-Za-z0-9_.-]{8,}"
)
_ASSIGNMENT = re.compile(r"^(?P<name>-{0,2}[A-Za-z_][\w.-]*)(?P<separator>[=:])(?P<value>.+)$", re.DOTALL)
_INNER_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_][\w-]*)=(?P<value>[^\s;&\"']+)")
_LITERAL = re.compile(
    r"(?P<name>[A-Za-z_][\w.-]*)(?P<between>[\"']?\]?\s*(?:=|:|,)\s*[rbfuRBFU]{0,2})(?P<quote>[\"'])(?:(?!(?P=quote)).)+"
)


def redact(words: Sequence[str]) -> list[str]:
    """The words of a command line with secrets replaced by ``[redacted]``."""
    shown: list[str] = []
    hide_next = False
    for word in words:
        if hide_next and not word.startswith("--"):
            shown.append(HIDDEN)
            hide_next = False
            continue
        hide_next = word.startswith("-") and "=" not in word and _is_secret(word.lstrip("-"))
        shown.append(_redact_word(word))
    return shown


def redact_line(line: str) -> str:
    """A line of source code: literals that are given to names which speak of a secret, and what any word hides."""
    line = _LITERAL.sub(_redact_literal, line)
    return " ".join(_redact_word(word) for word in line.split(" "))


def _redact_literal(match: re.Match[str]) -> str:
    return f"{match['name']}{match['between']}{match['quote']}{HIDDEN}" if _is_secret(match["name"]) else match[0]


def _redact_word(word: str) -> str:
    assignment = _ASSIGNMENT.match(word)
    if assignment and _is_secret(assignment["name"].lstrip("-")):
        return f"{assignment['name']}{assignment['separator']}{HIDDEN}"
    word = _INNER_ASSIGNMENT.sub(_redact_assignment, word)
    word = _URL_PASSWORD.sub(rf"\g<before>{HIDDEN}", word)
    word = _BEARER.sub(rf"\g<before>{HIDDEN}", word)
    return _TOKEN_WORD.sub(HIDDEN, word)


def _redact_assignment(match: re.Match[str]) -> str:
    return f"{match['name']}={HIDDEN}" if _is_secret(match["name"]) else match[0]


def _is_secret(name: str) -> bool:
    return bool(_SECRET_NAME.search(name)) and not _NOT_SECRET.search(name)
