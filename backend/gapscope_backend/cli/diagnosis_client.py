"""Asks a server for verdicts and other answers about its hosts."""

from __future__ import annotations

import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from gapscope_backend.analysis.language import DEFAULT_LANGUAGE, Language, from_message
from gapscope_backend.analysis.verdict import Verdict
from gapscope_backend.api.schema import Problem
from gapscope_backend.cli.errors import ServerAnswerError, UsageError

TIMEOUT_SECONDS = 60.0
MAX_ANSWER_BYTES = 64 * 1024 * 1024

Answer = TypeVar("Answer")


def read_token(token_file: Path | None) -> str:
    """The access token from ``token_file``, else from the environment (GAPSCOPE_TOKEN)."""
    if token_file is None:
        token = os.environ.get("GAPSCOPE_TOKEN", "")
    else:
        try:
            token = token_file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{token_file}: the token cannot be read ({error})") from error
    if not token.strip():
        raise UsageError("no access token: give --token-file FILE or set GAPSCOPE_TOKEN (see `gapscope token create`)")
    return token.strip()


def read_server(server: str | None) -> str:
    """The server's address from the option, else from the environment (GAPSCOPE_SERVER)."""
    address = server or os.environ.get("GAPSCOPE_SERVER", "")
    if not address:
        raise UsageError("no such folder, and no server to ask about a host: give --server URL or set GAPSCOPE_SERVER")
    if urllib.parse.urlsplit(address).scheme not in ("http", "https"):
        raise UsageError(f"{address} is not a server's address; it begins with http:// or https://")
    return address.rstrip("/")


def fetch_verdict(
    host: str, server: str | None, token_file: Path | None, start: str, end: str, language: Language
) -> Verdict:
    """GET the diagnosis of ``host`` between two moments in the API's forms."""
    query = [("from", start), ("to", end)]
    return ask(server, token_file, ("hosts", host, "diagnosis"), query, Verdict, "a verdict", language)


def ask(
    server: str | None,
    token_file: Path | None,
    path: Sequence[str],
    query: Sequence[tuple[str, str]],
    answer: type[Answer],
    called: str,
    language: Language,
) -> Answer:
    """GET the API's ``path`` (its parts, unquoted) and decode the answer, with texts in ``language``.

    Errors name the answer as ``called``.
    """
    asked = [*query, ("lang", language)] if language != DEFAULT_LANGUAGE else query
    body = fetch(server, token_file, path, asked)
    try:
        return msgspec.json.decode(body, type=answer, dec_hook=from_message)
    except msgspec.MsgspecError as error:
        where = f"{read_server(server)}: {'/'.join(path)}"
        raise ServerAnswerError(f"{where} did not answer with {called} ({error}); is it a Gapscope server?") from error


def fetch(server: str | None, token_file: Path | None, path: Sequence[str], query: Sequence[tuple[str, str]]) -> bytes:
    """The body of GET ``path`` (its parts, unquoted). Raises ServerAnswerError where the server has none to give."""
    address, token = read_server(server), read_token(token_file)
    where = "/".join(urllib.parse.quote(part, safe="") for part in path)
    url = f"{address}/api/v1/{where}?{urllib.parse.urlencode(query)}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})  # noqa: S310 - checked above
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310 - checked above
            body: bytes = response.read(MAX_ANSWER_BYTES)
            return body
    except urllib.error.HTTPError as error:
        raise ServerAnswerError(
            f"{address} refused ({error.code}): {_problem(error.read(MAX_ANSWER_BYTES))}"
        ) from error
    except OSError as error:
        raise ServerAnswerError(f"{address} cannot be reached: {error}. Is the server running there?") from error


def _problem(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=Problem).detail
    except msgspec.MsgspecError:
        return "it gave no reason"
