"""``link_degraded``: a PCIe link below its maximum while the GPU works."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec

from gapscope_backend.alerts.rules.cause_holding import Share
from gapscope_backend.alerts.rules.kind import VALUES, Finding, Kind, Question, gpu_name, said
from gapscope_backend.alerts.rules.values import fresh
from gapscope_backend.alerts.states import Truth
from gapscope_backend.analysis.language import Text

GENERATION, WIDTH, BUSY = "pcie_link_generation", "pcie_link_width_lanes", "gpu_utilization_ratio"
Pair = tuple[float | None, float | None]


class Settings(msgspec.Struct, frozen=True):
    """``busy``: utilization from which a link counts; an idle GPU lowers its link by itself to save power."""

    busy: Share = 0.1


def find(question: Question) -> Iterator[Finding]:
    """Each GPU's link against its maximum."""
    values = question.look.values
    if values is None:
        return
    for gpu in question.gpus():
        now = (fresh(values, gpu.key, GENERATION), fresh(values, gpu.key, WIDTH))
        best = (gpu.pcie_generation, gpu.pcie_width)
        busy = fresh(values, gpu.key, BUSY)
        pairs = [(one, top) for one, top in zip(now, best, strict=True) if one is not None and top is not None]
        if not pairs or busy is None:
            yield Finding(gpu.key, values.at_ns, Truth.UNKNOWN)
            continue
        share = min(one / top for one, top in pairs)
        below = Truth.HOLDS if busy >= question.settings.busy else Truth.BETWEEN
        truth = below if share < 1 else Truth.CLEARS
        sentence = said(truth, partial(_sentence, question, gpu.key, now, best))
        yield Finding(gpu.key, values.at_ns, truth, sentence, share, 1.0, cause="pcie_degraded")


def _sentence(question: Question, gpu: str, now: Pair, best: Pair) -> Text:
    return Text(
        "The PCIe link of {gpu} runs at generation {generation} x{width}, its maximum is {best} x{lanes}.",
        gpu=gpu_name(question.look.host, gpu),
        generation=_shown(now[0]),
        width=_shown(now[1]),
        best=_shown(best[0]),
        lanes=_shown(best[1]),
    )


def _shown(value: float | None) -> str:
    return "?" if value is None else f"{value:.0f}"


KIND = Kind(
    name="link_degraded",
    about="a PCIe link is below its maximum generation or width while the GPU works",
    settings=Settings,
    needs=VALUES,
    unit="ratio",
    find=find,
    metrics=frozenset({GENERATION, WIDTH, BUSY}),
)
