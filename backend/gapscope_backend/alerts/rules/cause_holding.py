"""``cause_holding``: one cause takes a share of the time, for long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gapscope_backend.alerts.rules.kind import FAULTS, LEDGERS, Finding, Kind, Question
from gapscope_backend.alerts.rules.shares import COVERS_SECONDS, GAP_SECONDS, holding

Share = Annotated[float, Meta(gt=0, le=1)]


class Settings(msgspec.Struct, frozen=True):
    """``causes``: causes or classes; ``no_work`` and ``unallocated`` count only where named."""

    causes: tuple[str, ...] = FAULTS
    share: Share = 0.5
    clear_share: Share = 0.3
    by: Literal["gpu", "job", "host"] = "gpu"


def find(question: Question) -> Iterator[Finding]:
    """Each cause that takes its share."""
    settings = question.settings
    return holding(question, settings.causes, settings.share, settings.clear_share, settings.by)


KIND = Kind(
    name="cause_holding",
    about="one cause takes a share of a GPU's, a job's or a host's time",
    settings=Settings,
    needs=LEDGERS,
    unit="ratio",
    find=find,
    gap_seconds=GAP_SECONDS,
    covers_seconds=COVERS_SECONDS,
)
