"""``memory_near_full``: a GPU's memory is nearly used up."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec

from gapscope_backend.alerts.rules.cause_holding import Share
from gapscope_backend.alerts.rules.kind import VALUES, Finding, Kind, Question, gpu_name, said, truth_of
from gapscope_backend.alerts.rules.values import fresh
from gapscope_backend.alerts.states import Truth
from gapscope_backend.analysis.language import Text

USED = "gpu_memory_used_bytes"


class Settings(msgspec.Struct, frozen=True):
    """Share of the memory that is in use. Servers that take nearly all of it at their start are near 0.9 by design."""

    share: Share = 0.98
    clear_share: Share = 0.95


def find(question: Question) -> Iterator[Finding]:
    """Each GPU's share; a GPU whose memory's size is not known is left out."""
    values, settings = question.look.values, question.settings
    if values is None:
        return
    for gpu in question.gpus():
        used = fresh(values, gpu.key, USED)
        if used is None or not gpu.memory_total_bytes:
            yield Finding(gpu.key, values.at_ns, Truth.UNKNOWN)
            continue
        share = used / gpu.memory_total_bytes
        truth = truth_of(share, settings.share, settings.clear_share)
        sentence = said(truth, partial(_sentence, question, gpu.key, share))
        yield Finding(gpu.key, values.at_ns, truth, sentence, share, settings.share)


def _sentence(question: Question, gpu: str, share: float) -> Text:
    return Text(
        "{gpu!u} has {share:.1%} of its memory in use (limit {limit:.0%}).",
        gpu=gpu_name(question.look.host, gpu),
        share=share,
        limit=question.settings.share,
    )


KIND = Kind(
    name="memory_near_full",
    about="a GPU's memory is nearly used up",
    settings=Settings,
    needs=VALUES,
    unit="ratio",
    find=find,
    metrics=frozenset({USED}),
)
