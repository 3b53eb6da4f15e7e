"""The same faults in other programs: other libraries' frames in the recordings, names hashed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.window import Series, Window
from tests.analysis.ablations import flags_unknown
from tests.analysis.accuracy import load
from tests.analysis.variants import VARIANTS, apply

pytestmark = pytest.mark.cases
Recorded = Callable[[str], Window]


@pytest.mark.parametrize("name", VARIANTS)
def test_other_library_gets_the_same_verdict(name: str, recorded: Recorded) -> None:
    variant = VARIANTS[name]
    window = recorded(variant.case)
    assert diagnose(apply(variant, window)).verdict in load(variant.case).accept


def _on_one_core(window: Window) -> Window:
    """The recording's owner used four cores more for small things of the framework."""
    key = f"process:{window.gpus[0].owners[0]}", "process_cpu_cores"
    series = window.series[key]
    return replace(window, series={**window.series, key: Series(series.times, series.values * 0.22)})


def test_native_decoding_on_one_core_is_no_launching(recorded: Recorded) -> None:
    window = _on_one_core(apply(VARIANTS["OpenCV, no frames of its own"], recorded("image-service-pil")))
    assert diagnose(window).verdict == "cpu_preprocess"
    assert diagnose(flags_unknown(window, "owns_gil")).verdict == "cpu_preprocess"
    blind = {key: s for key, s in window.series.items() if not key[1].startswith("pcie")}
    assert diagnose(replace(window, series=blind)).verdict == "host_side"
