"""``xid``: the driver reported an error of a GPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from gapscope_backend.alerts.look import EventLook
from gapscope_backend.alerts.rules.kind import EVENTS, SECOND_NS, Finding, Kind, Question, gpu_name
from gapscope_backend.alerts.states import Truth
from gapscope_backend.analysis.language import Text

EVENT = "xid"
OF_APPLICATIONS = (13, 31, 43, 45, 68)
"""Codes that NVIDIA's catalogue lays at an application's door first: a wrong address, a killed process."""
_CODE = re.compile(r"\bXid (\d{1,4})\b")


class Settings(msgspec.Struct, frozen=True):
    """``codes``: which count (none: all but ``except_codes``). The alert lasts ``hold_minutes`` after the last one."""

    codes: tuple[int, ...] = ()
    except_codes: tuple[int, ...] = OF_APPLICATIONS
    hold_minutes: Annotated[float, Meta(gt=0, le=1440)] = 10.0


def find(question: Question) -> Iterator[Finding]:
    """Each GPU whose driver reported one, and those whose last one is long enough ago."""
    events, settings = question.look.events, question.settings
    if events is None:
        return
    now_ns = max([question.look.last_seen_ns, *(event.t_ns for event in events)])
    keys = {gpu.key for gpu in question.gpus()}
    for event in events:
        code = code_of(event)
        if code is None or event.entity not in keys or not _counts(settings, code):
            continue
        question.notes[event.entity] = max(event.t_ns, question.notes.get(event.entity, 0))
        sentence = Text(
            "The driver reported an error of {gpu}: {text}.",
            gpu=gpu_name(question.look.host, event.entity),
            text=event.text,
        )
        yield Finding(event.entity, event.t_ns, Truth.HOLDS, sentence, float(code), since_ns=event.t_ns, held_ns=0)
    for subject, _ in question.tracked:
        last_ns = question.notes.get(subject, 0)
        if now_ns - last_ns >= settings.hold_minutes * 60 * SECOND_NS:
            question.notes.pop(subject, None)
            yield Finding(subject, now_ns, Truth.CLEARS)


def code_of(event: EventLook) -> int | None:
    """The code of an event that tells of one."""
    found = _CODE.search(event.text) if event.kind == EVENT else None
    return int(found.group(1)) if found else None


def _counts(settings: Settings, code: int) -> bool:
    return code in settings.codes if settings.codes else code not in settings.except_codes


KIND = Kind(
    name="xid",
    about="the driver reported an error of a GPU",
    settings=Settings,
    needs=EVENTS,
    unit="",
    find=find,
    gap_seconds=86400.0,
)
