"""``idle_share``: a GPU idles for a share of the time, whatever the cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from gapscope_backend.alerts.rules.cause_holding import Share
from gapscope_backend.alerts.rules.kind import LEDGERS, Finding, Kind, Question, truth_of
from gapscope_backend.alerts.rules.shares import (
    COVERS_SECONDS,
    GAP_SECONDS,
    NOT_MEASURED,
    Subject,
    costliest,
    gone,
    subjects,
)
from gapscope_backend.alerts.states import Truth
from gapscope_backend.analysis.language import Text

UNUSED = "unused"


class Settings(msgspec.Struct, frozen=True):
    """``unused``: whether time counts in which nobody asked for work (``no_work``, ``unallocated``)."""

    share: Share = 0.5
    clear_share: Share = 0.4
    unused: bool = False
    by: Literal["gpu", "job", "host"] = "gpu"


def find(question: Question) -> Iterator[Finding]:
    """Each subject's idle share."""
    ledgers, settings = question.look.ledgers, question.settings
    if ledgers is None:
        return
    found = []
    for subject in subjects(question, settings.by):
        found.append(subject.key)
        if subject.measured <= 0:
            yield Finding(subject.key, ledgers.end_ns, Truth.UNKNOWN)
            continue
        value = _idle_seconds(subject, settings.unused) / subject.measured
        yield Finding(
            subject=subject.key,
            at_ns=ledgers.end_ns,
            truth=truth_of(value, settings.share, settings.clear_share),
            sentence=Text(
                "{name!u} was idle for {share:.0%} of the last {seconds:.0f} s.",
                name=subject.name,
                share=value,
                seconds=ledgers.seconds,
            ),
            value=value,
            threshold=settings.share,
            since_ns=ledgers.start_ns,
            cause=costliest(subject.rows, ("fault", "limit", "unknown", *((UNUSED,) if settings.unused else ()))),
            job=subject.job,
        )
    yield from gone(question, found, settings.by)


def _idle_seconds(subject: Subject, unused: bool) -> float:
    return sum(
        row.gpu_seconds - row.busy_gpu_seconds
        for row in subject.rows
        if row.cause != NOT_MEASURED and (unused or row.row_class != UNUSED)
    )


KIND = Kind(
    name="idle_share",
    about="a GPU, a job's GPUs or a host's GPUs idle for a share of the time",
    settings=Settings,
    needs=LEDGERS,
    unit="ratio",
    find=find,
    gap_seconds=GAP_SECONDS,
    covers_seconds=COVERS_SECONDS,
)
