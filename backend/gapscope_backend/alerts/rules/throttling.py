"""``throttling``: a GPU's clocks are held down by heat, power or the hardware's own protection."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Literal

import msgspec

from gapscope_backend.alerts.rules.cause_holding import Share
from gapscope_backend.alerts.rules.kind import VALUES, Finding, Kind, Question, gpu_name, said, truth_of
from gapscope_backend.alerts.rules.values import fresh
from gapscope_backend.alerts.states import Truth
from gapscope_backend.analysis.language import Text

REASONS = "gpu_clocks_event_reasons_code"
RATIOS = {"thermal": "gpu_violation_thermal_ratio", "power": "gpu_violation_power_ratio"}
BITS = {"thermal": 0x60, "power": 0x04, "hardware": 0x08, "power_brake": 0x80}
NAMES = {
    "thermal": Text("heat"),
    "power": Text("its power limit"),
    "hardware": Text("a hardware slowdown"),
    "power_brake": Text("an external power brake"),
}


class Settings(msgspec.Struct, frozen=True):
    """``reasons`` that count. The power limit is no fault of most GPUs that work hard, and is not among them."""

    reasons: tuple[Literal["thermal", "power", "hardware", "power_brake"], ...] = ("thermal", "hardware", "power_brake")
    share: Share = 0.1
    clear_share: Share = 0.05


def find(question: Question) -> Iterator[Finding]:
    """Each GPU's worst reason: the share of time that the driver counted, or all of it while the reason stands."""
    values, settings = question.look.values, question.settings
    if values is None:
        return
    for gpu in question.gpus():
        mask = fresh(values, gpu.key, REASONS)
        shares: dict[str, float] = {}
        for reason in settings.reasons:
            counted = fresh(values, gpu.key, RATIOS[reason]) if reason in RATIOS else None
            if counted is not None:
                shares[reason] = counted
            elif mask is not None:
                shares[reason] = 1.0 if int(mask) & BITS[reason] else 0.0
        if not shares:
            yield Finding(gpu.key, values.at_ns, Truth.UNKNOWN)
            continue
        worst = max(shares, key=lambda reason: shares[reason])
        truth = truth_of(shares[worst], settings.share, settings.clear_share)
        sentence = said(truth, partial(_sentence, question, gpu.key, worst, shares[worst]))
        yield Finding(gpu.key, values.at_ns, truth, sentence, shares[worst], settings.share, cause="throttled")


def _sentence(question: Question, gpu: str, reason: str, share: float) -> Text:
    return Text(
        "{gpu!u} is held down by {reason} for {share:.0%} of the time (limit {limit:.0%}).",
        gpu=gpu_name(question.look.host, gpu),
        reason=NAMES[reason],
        share=share,
        limit=question.settings.share,
    )


KIND = Kind(
    name="throttling",
    about="a GPU's clocks are held down by heat, power or its hardware's protection",
    settings=Settings,
    needs=VALUES,
    unit="ratio",
    find=find,
    metrics=frozenset({REASONS, *RATIOS.values()}),
)
