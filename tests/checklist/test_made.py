"""Lines of the checklist on windows made by hand: what no recording shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapscope_backend.analysis.checklist import Line, run_checklist
from gapscope_backend.analysis.window import Process, Window
from tests.contrast.windows import series, window

CELLS = 60
FULL = np.full(CELLS, 0.95)


def _with(base: Window, **series_of: dict[str, float]) -> Window:
    """Constant series by entity, whose colons and slashes are written as double underscores."""
    added = {
        (entity.replace("__", ":", 1).replace("__", "/"), metric): series(np.full(base.cell_count, value))
        for entity, metrics in series_of.items()
        for metric, value in metrics.items()
    }
    return replace(base, series={**base.series, **added})


def _gpu(base: Window, **facts: object) -> Window:
    return replace(base, gpus=tuple(replace(gpu, **facts) for gpu in base.gpus))  # type: ignore[arg-type]


def _line(judged: Window, check: str) -> Line:
    return next(line for line in run_checklist(judged).lines if line.check == check)


def test_an_empty_window_is_not_measurable_but_does_not_fail_on_it() -> None:
    nothing = replace(window(FULL), gpus=(), series={}, processes=())
    found = run_checklist(nothing)
    assert {line.status for line in found.lines} == {"not_measurable"}
    assert (found.status, found.beyond) == ("pass", ())


@pytest.mark.parametrize(("generation", "status"), [(5.0, "pass"), (3.0, "fail")])
def test_the_link_is_judged_under_load_alone(generation: float, status: str) -> None:
    link = {"pcie_link_generation": generation, "pcie_link_width_lanes": 16.0}
    facts = {"pcie_generation": 5, "pcie_width": 16}
    assert _line(_with(_gpu(window(FULL), **facts), gpu__a=link), "pcie").status == status
    assert _line(_with(_gpu(window(np.zeros(CELLS)), **facts), gpu__a=link), "pcie").status == "not_measurable"


@pytest.mark.parametrize(("cpu", "status"), [(3.0, "pass"), (7.0, "fail")])
def test_feeding_threads_belong_near_their_gpu(cpu: float, status: str) -> None:
    near = _gpu(window(FULL), cpu_affinity="0-3")
    line = _line(_with(near, thread__10__10={"thread_last_cpu_index": cpu}), "numa")
    assert line.status == status
    assert ("taskset -c 0-3" in line.advice) == (status == "fail")


@pytest.mark.parametrize(
    ("reasons", "clock", "status"),
    [(0x0, 1.98e9, "pass"), (0x4, 1.5e9, "pass"), (0x40, 1.2e9, "fail"), (0x80, 1.9e9, "fail")],
)
def test_a_power_limit_is_no_fault_but_heat_is(reasons: float, clock: float, status: str) -> None:
    told = {"gpu_clocks_event_reasons_code": reasons, "gpu_sm_clock_hertz": clock}
    line = _line(_with(_gpu(window(FULL), max_sm_clock_hertz=1.98e9), gpu__a=told), "clocks")
    assert line.status == status
    assert f"at {clock / 1e6:.0f} of 1980 MHz" in line.figure


@pytest.mark.parametrize(("used", "status"), [(50.0, "pass"), (95.0, "warn"), (99.5, "fail")])
def test_memory_headroom(used: float, status: str) -> None:
    full = _with(_gpu(window(FULL), memory_total_bytes=100e9), gpu__a={"gpu_memory_used_bytes": used * 1e9})
    assert _line(full, "memory").status == status


def test_a_quota_in_the_way_fails() -> None:
    base = _with(window(FULL), host={"cpu_busy_cores": 2.0})
    assert _line(base, "cpu").status == "pass"
    throttled = _with(base, cgroup__job={"cgroup_cpu_throttled_ratio": 0.4})
    line = _line(throttled, "cpu")
    assert (line.status, line.figure) == ("fail", "job was throttled by its CPU quota 40% of the time.")


def test_threads_of_a_gpu_process_without_a_core_are_told() -> None:
    line = _line(_with(window(FULL), thread__10__10={"thread_run_delay_ratio": 0.1}), "cpu")
    assert line.status == "warn"
    assert "pid 10" in line.figure
    other = _with(window(FULL), thread__99__99={"thread_run_delay_ratio": 0.9})
    assert _line(other, "cpu").status == "not_measurable"


def test_a_coarse_view_is_no_sub_second_view() -> None:
    assert _line(window(FULL), "subsecond").status == "pass"
    slow = window(FULL)
    column = slow.series["gpu:a", "gpu_graphics_active_ratio"]
    seconds = replace(column, times=column.times[::10], values=column.values[::10])
    thin = replace(slow, series={("gpu:a", "gpu_graphics_active_ratio"): seconds})
    assert _line(thin, "subsecond").status == "warn"
    driver = replace(slow, series={("gpu:a", "gpu_utilization_ratio"): column})
    assert _line(driver, "subsecond").status == "warn"
    assert _line(replace(slow, series={}), "subsecond").status == "fail"


def test_commands_with_quotes_or_secrets_are_not_repeated() -> None:
    for command in ("python -c 'import sys'", "serve --token [redacted]", "a; b", ""):
        odd = replace(window(FULL), processes=(Process(10, 1, command),))
        assert all(hint.command.endswith((" COMMAND", ".json")) for hint in run_checklist(odd).beyond)
