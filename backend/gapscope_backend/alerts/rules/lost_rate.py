"""``lost_rate``: GPU-seconds, or money, lost per hour."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gapscope_backend.alerts.rules.kind import LEDGERS, Finding, Kind, Question, takes_cause, title_of, truth_of
from gapscope_backend.alerts.rules.shares import COVERS_SECONDS, GAP_SECONDS, Subject, costliest, gone, subjects
from gapscope_backend.alerts.states import Truth
from gapscope_backend.analysis.language import Text

Amount = Annotated[float, Meta(gt=0)]
HOUR_SECONDS = 3600.0


class Settings(msgspec.Struct, frozen=True):
    """Either ``gpu_seconds_per_hour``, or ``money_per_hour`` with the price of a GPU-hour in the same currency."""

    gpu_seconds_per_hour: Amount | None = None
    money_per_hour: Amount | None = None
    price_per_gpu_hour: Amount | None = None
    clear_ratio: Annotated[float, Meta(gt=0, le=1)] = 0.8
    causes: tuple[str, ...] = ("fault",)
    by: Literal["gpu", "job", "host"] = "host"

    def __post_init__(self) -> None:
        if (self.gpu_seconds_per_hour is None) == (self.money_per_hour is None):
            raise ValueError("give either gpu_seconds_per_hour or money_per_hour")
        if self.money_per_hour is not None and self.price_per_gpu_hour is None:
            raise ValueError("money_per_hour needs price_per_gpu_hour, in the same currency")


def find(question: Question) -> Iterator[Finding]:
    """Each subject's rate of loss, as of its last minute."""
    ledgers, settings = question.look.ledgers, question.settings
    if ledgers is None or ledgers.seconds <= 0:
        return
    found = []
    for subject in subjects(question, settings.by):
        found.append(subject.key)
        if subject.measured <= 0:
            yield Finding(subject.key, ledgers.end_ns, Truth.UNKNOWN)
            continue
        yield _finding(question, subject)
    yield from gone(question, found, settings.by)


def _finding(question: Question, subject: Subject) -> Finding:
    ledgers, settings = question.look.ledgers, question.settings
    assert ledgers is not None
    lost = sum(row.gpu_seconds for row in subject.rows if takes_cause(settings.causes, row.cause, row.row_class))
    seconds = lost / ledgers.seconds * HOUR_SECONDS
    money = settings.money_per_hour is not None
    value = seconds / HOUR_SECONDS * settings.price_per_gpu_hour if money else seconds
    threshold = settings.money_per_hour if money else settings.gpu_seconds_per_hour
    cause = costliest(subject.rows, settings.causes)
    told = {"name": subject.name, "threshold": threshold, "cause": title_of(cause) or Text("nothing in particular")}
    sentence = (
        Text("{name!u} loses {value:.2f} an hour (limit {threshold:g}), mostly to: {cause!l}.", value=value, **told)
        if money
        else Text(
            "{name!u} loses {value:.0f} GPU-seconds an hour (limit {threshold:.0f}), mostly to: {cause!l}.",
            value=value,
            **told,
        )
    )
    return Finding(
        subject=subject.key,
        at_ns=ledgers.end_ns,
        truth=truth_of(value, threshold, threshold * settings.clear_ratio),
        sentence=sentence,
        value=value,
        threshold=threshold,
        since_ns=ledgers.start_ns,
        cause=cause,
        job=subject.job,
    )


KIND = Kind(
    name="lost_rate",
    about="GPU-seconds or money lost per hour by a host, a GPU or a job",
    settings=Settings,
    needs=LEDGERS,
    unit="",
    find=find,
    gap_seconds=GAP_SECONDS,
    covers_seconds=COVERS_SECONDS,
)
