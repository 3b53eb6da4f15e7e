"""Settings of the agent, from a TOML file and the environment (``GAPSCOPE_AGENT_<KEY>``, which wins).

An unknown key is an error that names the nearest known one; units stand in the key names.
"""

from __future__ import annotations

import difflib
import os
import re
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from gapscope_agent.errors import AgentError
from gapscope_agent.stacks.settings import StackSettings
from gapscope_agent.wire import HOST_PATTERN

ENVIRONMENT_PREFIX = "GAPSCOPE_AGENT_"
TOKEN = re.compile(r"[!-~]{1,512}\Z")


class ConfigError(AgentError):
    """A setting is unknown or impossible; the message names it, its place and what would be right."""


class AgentConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an operator can set; defaults suit one host beside its server."""

    server: str = "http://127.0.0.1:8765"
    """Address of the server, without a path."""
    token: str | None = None
    """Ingest token; ``token_file`` is better: it can be rotated and stands in no process list."""
    token_file: Path | None = None
    ca_file: Path | None = None
    """Certificates to trust in place of the system's, PEM."""
    host: str = msgspec.field(default_factory=lambda: default_host_name())
    """Name under which this host appears; the system's host name where none is set."""
    labels: dict[str, str] = {}
    batch_seconds: float = 5.0
    queue_max_bytes: int = 64 * 1024 * 1024
    """Undelivered batches kept in memory; beyond it the oldest are dropped and counted."""
    request_timeout_seconds: float = 30.0
    retry_initial_seconds: float = 1.0
    retry_max_seconds: float = 60.0
    hold_seconds: float = 60.0
    """Wait after an answer that a person has to fix (401, 403, 426); the queue is held meanwhile."""
    flush_seconds: float = 3.0
    """At a stop, time to deliver what is queued."""
    stacks: StackSettings = StackSettings()
    """When and at what price Python stacks are taken."""

    def __post_init__(self) -> None:
        if not re.match(r"https?://[^/\s]+/?$", self.server):
            raise ConfigError(f"server = {self.server!r}: want http://HOST:PORT or https://HOST:PORT")
        if self.token is not None and not TOKEN.match(self.token):
            raise ConfigError("token: want one token, printable and without spaces")
        if not re.match(HOST_PATTERN, self.host):
            raise ConfigError(f"host = {self.host!r}: letters, digits, '.', '_' and '-' only, at most 253")
        for name in ("batch_seconds", "request_timeout_seconds", "retry_initial_seconds", "queue_max_bytes"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{name} = {getattr(self, name)}: want more than 0")
        if self.batch_seconds > 60:
            raise ConfigError(f"batch_seconds = {self.batch_seconds}: want at most 60")

    def bearer(self) -> str | None:
        """The token as it is now; ``token_file`` is read anew, so that a rotated token is picked up."""
        if self.token_file is None:
            return self.token
        try:
            token = self.token_file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ConfigError(f"token_file {self.token_file}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"token_file {self.token_file}: holds no text") from error
        if not TOKEN.match(token):
            raise ConfigError(f"token_file {self.token_file}: want one token, printable and without spaces")
        return token


KEYS = tuple(AgentConfig.__struct_fields__)
STACK_KEYS = tuple(StackSettings.__struct_fields__)
STACKS_PREFIX = f"{ENVIRONMENT_PREFIX}STACKS_"


def load_config(
    path: Path | None = None,
    environment: Mapping[str, str] | None = None,
    *,
    server: str | None = None,
    token_file: Path | None = None,
    host: str | None = None,
) -> AgentConfig:
    """Settings from the file, over them the environment (default: the process's), over both the arguments.

    ConfigError names what is wrong and where.
    """
    settings = _from_file(path) if path is not None else {}
    _read_environment(settings, os.environ if environment is None else environment)
    given = {"server": server, "token_file": token_file, "host": host}
    settings.update((key, value) for key, value in given.items() if value is not None)
    try:
        return msgspec.convert(settings, AgentConfig, strict=False, dec_hook=_decode_path)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path or 'settings'}: {error}") from error


def _read_environment(settings: dict[str, Any], environment: Mapping[str, str]) -> None:
    """Lay the environment's settings over those of the file, in place."""
    for name, value in environment.items():
        where = f"environment variable {name}"
        if name.startswith(STACKS_PREFIX):
            key = name[len(STACKS_PREFIX) :].lower()
            _check_key(key, where, STACKS_PREFIX, str.upper, STACK_KEYS)
            stacks = settings["stacks"] = {**settings.get("stacks", {})}
            stacks[key] = [part for part in value.split(":") if part] if key == "strip_prefixes" else value
        elif name.startswith(ENVIRONMENT_PREFIX):
            key = name[len(ENVIRONMENT_PREFIX) :].lower()
            _check_key(key, where, ENVIRONMENT_PREFIX, str.upper)
            if key == "stacks":
                raise ConfigError(f"{where}: a table; set its keys, such as {STACKS_PREFIX}MODE")
            settings[key] = _labels(value, name) if key == "labels" else value


def _decode_path(kind: type[Any], value: Any) -> Any:
    if kind is Path and isinstance(value, str | Path):
        return Path(value)
    raise NotImplementedError(f"a setting of type {kind.__name__} cannot be {value!r}")


def default_host_name() -> str:
    """The system's host name, as a valid one."""
    return host_name_from(socket.gethostname())


def host_name_from(text: str) -> str:
    """A valid host name from any text: what is not allowed becomes a hyphen."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:253].strip("._-")
    return name or "host"


def _from_file(path: Path) -> dict[str, Any]:
    try:
        settings = msgspec.toml.decode(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from error
    except msgspec.DecodeError as error:
        raise ConfigError(f"{path}: {error}") from error
    for key in settings:
        _check_key(key, f"{path}: {key}", "", str.lower)
    if not isinstance(settings.get("stacks", {}), dict):
        raise ConfigError(f"{path}: stacks is a table: write [stacks] and its keys below it")
    for key in settings.get("stacks", {}):
        _check_key(key, f"{path}: stacks.{key}", "stacks.", str.lower, STACK_KEYS)
    return dict(settings)


def _check_key(key: str, where: str, prefix: str, spell: Callable[[str], str], known: tuple[str, ...] = KEYS) -> None:
    if key not in known:
        nearest = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
        advice = f"did you mean {prefix}{spell(nearest[0])}?" if nearest else f"known are {', '.join(known)}"
        raise ConfigError(f"{where}: there is no such setting; {advice}")


def _labels(text: str, where: str) -> dict[str, str]:
    pairs = [item.partition("=") for item in text.split(",") if item.strip()]
    if any(not equals or not name.strip() for name, equals, _ in pairs):
        raise ConfigError(f"environment variable {where}: want name=value,name=value")
    return {name.strip(): value.strip() for name, _, value in pairs}
