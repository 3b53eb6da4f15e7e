"""``straggler``: GPUs of one job wait for a slower one."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gapscope_backend.alerts.rules.cause_holding import Share
from gapscope_backend.alerts.rules.kind import LEDGERS, Finding, Kind, Question
from gapscope_backend.alerts.rules.shares import COVERS_SECONDS, GAP_SECONDS, GPU, holding

CAUSES = ("straggler", "gpu_imbalance")


class Settings(msgspec.Struct, frozen=True):
    """Share of a GPU's time that it spins in a collective, or idles beside a full sibling of its job."""

    share: Share = 0.2
    clear_share: Share = 0.1


def find(question: Question) -> Iterator[Finding]:
    """Each GPU that waits for a slower peer."""
    return holding(question, CAUSES, question.settings.share, question.settings.clear_share, GPU)


KIND = Kind(
    name="straggler",
    about="a GPU spins in a collective for a slower peer, or idles beside a full sibling of its job",
    settings=Settings,
    needs=LEDGERS,
    unit="ratio",
    find=find,
    gap_seconds=GAP_SECONDS,
    covers_seconds=COVERS_SECONDS,
)
