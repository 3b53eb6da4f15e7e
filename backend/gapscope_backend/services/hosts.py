"""Hosts: finding one, judging its state, and reading the facts in its labels."""

from __future__ import annotations

import re
from difflib import get_close_matches

from gapscope_agent.wire import HOST_PATTERN
from gapscope_backend.errors import NotFoundError
from gapscope_backend.store.database import Database
from gapscope_backend.store.hosts import host_named, host_names
from gapscope_backend.store.models import Entity, Host

LIVE_NS = 15_000_000_000
RETIRED_NS = 24 * 3600 * 1_000_000_000

_HOST = re.compile(HOST_PATTERN)


def host_state(host: Host, now_ns: int) -> str:
    """``live`` (last shipped less than 15 s ago), ``stale``, or ``retired`` (more than a day ago)."""
    age = now_ns - host.last_seen_ns
    if age < LIVE_NS:
        return "live"
    return "stale" if age <= RETIRED_NS else "retired"


async def find_host(database: Database, name: str) -> Host:
    """The host of that name. NotFoundError names those that are close to it."""
    host = await host_named(database, name) if _HOST.match(name) else None
    if host is not None:
        return host
    near = get_close_matches(name, await host_names(database), n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else "; GET /api/v1/hosts lists them"
    raise NotFoundError(f"no host {name[:100]!r} has sent anything{hint}", "host")


def number_label(labels: dict[str, str], name: str) -> float | None:
    """A label that is a number; None where it is absent or no number."""
    try:
        return float(labels[name])
    except (KeyError, ValueError):
        return None


def whole_label(labels: dict[str, str], name: str) -> int | None:
    """A label that is a whole number; None where it is absent or no number."""
    try:
        return int(labels[name])
    except (KeyError, ValueError):
        return None


def owner_pids(labels: dict[str, str]) -> set[int]:
    """Pids of a GPU's ``owners`` label."""
    return {int(pid) for pid in labels.get("owners", "").split(",") if pid.strip().isdecimal()}


def gpu_order(entity: Entity) -> tuple[float, str]:
    """Sort key of GPUs: by index, then key."""
    index = whole_label(entity.labels, "index")
    return (float("inf") if index is None else index, entity.key)
