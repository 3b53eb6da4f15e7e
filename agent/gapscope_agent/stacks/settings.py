"""The ``[stacks]`` table of the agent's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gapscope_agent.stacks.messages import MAX_RATE_HERTZ


class StackSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When, how often and at what price Python stacks are taken; ``MEANINGS`` explains each."""

    mode: Literal["off", "on_drop", "continuous"] = "on_drop"
    burst_seconds: Annotated[float, Meta(ge=1, le=300)] = 10.0
    burst_rate_hertz: Annotated[int, Meta(ge=1, le=20)] = 5
    again_seconds: Annotated[float, Meta(ge=1, le=86_400)] = 60.0
    rate_hertz: Annotated[int, Meta(ge=1, le=MAX_RATE_HERTZ)] = 10
    keep: Literal["all", "around_drops"] = "all"
    max_cpu_cores: Annotated[float, Meta(gt=0, le=8)] = 0.1
    helper_socket: Path | None = None
    source_lines: bool = True
    strip_prefixes: Annotated[tuple[str, ...], Meta(max_length=100)] = ()


MEANINGS: dict[str, str] = {
    "mode": "`off`; `on_drop`: around drops of a GPU, and when a page asks; `continuous`: all the time, and more "
    "around drops",
    "burst_seconds": "how long a drop is covered from its start on, by snapshots that also tell the owner of the "
    "interpreter lock",
    "burst_rate_hertz": "snapshots a second of each process in a burst",
    "again_seconds": "while a drop goes on, the next burst begins so long after the last",
    "rate_hertz": "looks a second of each process in `continuous`",
    "keep": "in `continuous`: `all` sends every sample; `around_drops` keeps the last 30 s in memory and sends them "
    "when a GPU drops or a page asks",
    "max_cpu_cores": "CPU that sampling may use, all processes together; beyond it looks become rarer",
    "helper_socket": "socket of `gapscope stack-helper`; without one the agent samples with its own rights",
    "source_lines": "send the text of the sampled source lines, literals with secret names hidden",
    "strip_prefixes": "path prefixes that are cut off file names; home directories always become `~`. In the "
    "environment separated by colons",
}
"""What each setting means; docs/configuration.md is written from it, and a test compares its keys."""
