"""``gpu_lost``: a GPU answers nothing any more while its host goes on reporting."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec

from gapscope_backend.alerts.rules.kind import VALUES, Finding, Kind, Question, gpu_name, said
from gapscope_backend.alerts.rules.values import fresh
from gapscope_backend.alerts.states import Truth
from gapscope_backend.analysis.language import Text

SIGNS = ("gpu_power_watts", "gpu_utilization_ratio", "gpu_memory_used_bytes", "gpu_graphics_active_ratio")
"""Of these a GPU that is there answers at least one."""


class Settings(msgspec.Struct, frozen=True):
    """None: how long it must last is the rule's ``for``."""


def find(question: Question) -> Iterator[Finding]:
    """Each GPU that the host told of within a day."""
    values = question.look.values
    if values is None:
        return
    for gpu in question.gpus():
        there = any(fresh(values, gpu.key, metric) is not None for metric in SIGNS)
        truth = Truth.CLEARS if there else Truth.HOLDS
        yield Finding(gpu.key, values.at_ns, truth, said(truth, partial(_sentence, question, gpu.key)))


def _sentence(question: Question, gpu: str) -> Text:
    return Text(
        "{gpu!u} answers nothing any more, while its host goes on reporting.", gpu=gpu_name(question.look.host, gpu)
    )


KIND = Kind(
    name="gpu_lost",
    about="a GPU answers nothing any more while its host goes on reporting",
    settings=Settings,
    needs=VALUES,
    unit="",
    find=find,
    metrics=frozenset(SIGNS),
)
