"""Windows for the analysis: built by hand, or from the recorded cases beside the project."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from gapscope_backend.analysis.window import Floats, Frame, Gpu, Process, Series, StackSamples, Window
from tests.analysis.accuracy import CASES, Case, case_names, load

START = 1_790_000_000_000_000_000
CELL = 100_000_000


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        names = case_names()
        skipped = pytest.param("", marks=pytest.mark.skip(reason="no recorded cases beside the project"))
        metafunc.parametrize("case", names or [skipped], indirect=True)


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Case:
    return load(request.param)


@pytest.fixture
def recorded() -> Callable[[str], Window]:
    def window_of(name: str) -> Window:
        if not (CASES / name).is_dir():
            pytest.skip("no recorded cases beside the project")
        return load(name).window

    return window_of


@pytest.fixture
def cases_folder() -> Path:
    if not CASES.is_dir():
        pytest.skip("no recorded cases beside the project")
    return CASES


@dataclass
class Builder:
    """One GPU (pid 10 holds it) over ``cells`` cells; stacks are given as (frames, active, owns_gil) per cell."""

    cells: int = 50
    owners: tuple[int, ...] = (10,)
    series: dict[tuple[str, str], Series] = field(default_factory=dict)

    def put(self, metric: str, values: Sequence[float] | Floats | float, entity: str = "gpu:a") -> Builder:
        column = np.broadcast_to(np.asarray(values, dtype=np.float64), (self.cells,))
        times = START + CELL * (1 + np.arange(self.cells, dtype=np.int64))
        self.series[entity, metric] = Series(times, column.copy())
        return self

    def gpu(self, graphics: Sequence[float] | float, **metrics: float) -> Builder:
        self.put("gpu_graphics_active_ratio", graphics)
        self.put("gpu_processes_count", float(len(self.owners)))
        for metric in ("sm_active", "sm_occupancy", "tensor_active", "fp32_active", "dram_active"):
            self.put(f"gpu_{metric}_ratio", np.asarray(graphics) * metrics.get(metric, 0.0))
        return self

    def cpu(self, cores: float) -> Builder:
        return self.put("process_cpu_cores", cores, "process:10")

    def window(self, stack: Sequence[Frame] | None = None, *, active: bool = True, owns_gil: bool = False) -> Window:
        return Window(
            host="h",
            start_ns=START,
            end_ns=START + self.cells * CELL,
            logical_cpus=8,
            gpus=(Gpu("gpu:a", 0, "GPU", self.owners, 700.0, 2e9, 5, 16),),
            processes=(Process(10, 1, "server"),),
            series=self.series,
            stacks=None if stack is None else self._stacks(stack, active, owns_gil),
        )

    def _stacks(self, stack: Sequence[Frame], active: bool, owns_gil: bool) -> StackSamples:
        n = self.cells
        return StackSamples(
            times=START + CELL // 2 + CELL * np.arange(n, dtype=np.int64),
            pids=np.full(n, 10),
            tids=np.full(n, 10),
            active=np.full(n, active, dtype=np.int8),
            owns_gil=np.full(n, owns_gil, dtype=np.int8),
            stack=np.zeros(n, dtype=np.int64),
            stacks=(tuple(range(len(stack))),),
            frames=tuple(stack),
        )


@pytest.fixture
def builder() -> Builder:
    return Builder()
