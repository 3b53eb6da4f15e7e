"""``ecc``: uncorrected memory errors were counted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from gapscope_backend.alerts.rules.kind import SECOND_NS, VALUES, Finding, Kind, Question, gpu_name, said
from gapscope_backend.alerts.rules.values import fresh
from gapscope_backend.alerts.states import Truth
from gapscope_backend.analysis.language import Text

ERRORS = "gpu_ecc_errors_count"
MOST_STEPS = 100


class Settings(msgspec.Struct, frozen=True):
    """``errors`` or more within the last ``window_hours``."""

    errors: Annotated[int, Meta(ge=1)] = 1
    window_hours: Annotated[float, Meta(gt=0, le=720)] = 24.0


def find(question: Question) -> Iterator[Finding]:
    """Each GPU's errors that were added lately. The driver counts from its own start: a lower count is a new one."""
    values, settings = question.look.values, question.settings
    if values is None:
        return
    for gpu in question.gpus():
        count = fresh(values, gpu.key, ERRORS, slow=True)
        if count is None:
            yield Finding(gpu.key, values.at_ns, Truth.UNKNOWN)
            continue
        note = question.notes.setdefault(gpu.key, {"count": None, "added": []})
        _count(note, int(count), values.at_ns, settings)
        added = sum(step[1] for step in note["added"])
        truth = Truth.HOLDS if added >= settings.errors else Truth.CLEARS
        sentence = said(truth, partial(_sentence, question, gpu.key, added))
        yield Finding(gpu.key, values.at_ns, truth, sentence, float(added), float(settings.errors))


def _sentence(question: Question, gpu: str, added: int) -> Text:
    return Text(
        "{gpu!u} had {count} uncorrected memory errors in the last {hours:g} h.",
        gpu=gpu_name(question.look.host, gpu),
        count=added,
        hours=question.settings.window_hours,
    )


def _count(note: dict[str, Any], count: int, at_ns: int, settings: Settings) -> None:
    before = note["count"]
    new = 0 if before is None else count - before if count >= before else count
    if new:
        note["added"] = [*note["added"], [at_ns, new]][-MOST_STEPS:]
    note["count"] = count
    oldest_ns = at_ns - round(settings.window_hours * 3600 * SECOND_NS)
    note["added"] = [step for step in note["added"] if step[0] > oldest_ns]


KIND = Kind(
    name="ecc",
    about="uncorrected memory errors were counted since the rule first looked",
    settings=Settings,
    needs=VALUES,
    unit="errors",
    find=find,
    metrics=frozenset({ERRORS}),
)
