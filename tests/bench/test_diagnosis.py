"""How long an answer takes: prints figures, asserts what was computed and never the time. Run by ``make bench``."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gapscope_backend.analysis.diagnose import diagnose
from gapscope_backend.analysis.window import CELL_NS, Floats, Frame, Gpu, Process, Series, StackSamples, Window

CASES = Path(__file__).resolve().parents[3] / "shared" / "cases"
START = 1_790_000_000_000_000_000
SECONDS, GPUS, STACK_HERTZ, THREADS = 600, 8, 20, 3
GPU_METRICS = {
    "gpu_graphics_active_ratio": 1.0, "gpu_utilization_ratio": 1.0, "gpu_sm_active_ratio": 0.8,
    "gpu_sm_occupancy_ratio": 0.3, "gpu_tensor_active_ratio": 0.4, "gpu_fp32_active_ratio": 0.1,
    "gpu_fp64_active_ratio": 0.0, "gpu_fp16_active_ratio": 0.0, "gpu_integer_active_ratio": 0.1,
    "gpu_dram_active_ratio": 0.4, "pcie_rx_bytes_per_second": 1e9, "pcie_tx_bytes_per_second": 1e8,
    "gpu_power_watts": 500.0, "gpu_sm_clock_hertz": 1.9e9, "gpu_clocks_event_reasons_code": 0.0,
    "gpu_memory_used_bytes": 5e10, "nvlink_rx_bytes_per_second": 1e9,
}  # fmt: skip
LEAVES = (
    Frame("synchronize", "torch/cuda/__init__.py", 1),
    Frame("Conv2d.forward", "torch/nn/modules/conv.py", 2),
    Frame("ImageFile.load", "PIL/ImageFile.py", 3),
    Frame("Condition.wait", "threading.py", 4),
    Frame("step", "app.py", 5, "x = y.item()"),
    Frame("prepare", "app.py", 6),
)


def _series(random: np.random.Generator, hertz: float, top: float) -> Series:
    count = int(SECONDS * hertz)
    times = START + (np.arange(count, dtype=np.int64) + 1) * int(1e9 / hertz)
    values: Floats = random.random(count) * top
    return Series(times, values)


def _stacks(random: np.random.Generator, pids: list[int], distinct: int = 800) -> StackSamples:
    frames = LEAVES + tuple(Frame(f"f{i}", f"app{i % 40}.py", i) for i in range(400))
    stacks = tuple(
        (i % len(LEAVES), *(len(LEAVES) + int(j) for j in random.integers(0, 400, 12))) for i in range(distinct)
    )
    moments = SECONDS * STACK_HERTZ
    times = START + np.arange(moments, dtype=np.int64) * int(1e9 / STACK_HERTZ) + 1
    rows = moments * len(pids) * THREADS
    thread = np.tile(np.arange(THREADS), moments * len(pids))
    owner = np.tile(np.repeat(np.array(pids, dtype=np.int64), THREADS), moments)
    return StackSamples(
        times=np.repeat(times, len(pids) * THREADS), pids=owner, tids=owner + thread,
        active=random.integers(0, 2, rows).astype(np.int8), owns_gil=random.integers(0, 2, rows).astype(np.int8),
        stack=random.integers(0, distinct, rows), stacks=stacks, frames=frames,
    )  # fmt: skip


def ten_minutes(*, with_stacks: bool) -> Window:
    """Eight GPUs of eight processes at 10 Hz, with processes and threads at their usual rates."""
    random = np.random.default_rng(1)
    pids = [1000 + 10 * i for i in range(GPUS)]
    series = {
        (f"gpu:{i}", metric): _series(random, 10, top) for i in range(GPUS) for metric, top in GPU_METRICS.items()
    }
    series |= {(f"process:{pid}", "process_cpu_cores"): _series(random, 5, 1.0) for pid in pids}
    series |= {(f"process:{pid}", "process_write_bytes_per_second"): _series(random, 1, 1e6) for pid in pids}
    series |= {(f"process:{pid}", "process_gpu_sm_ratio"): _series(random, 1, 1.0) for pid in pids}
    series |= {(f"thread:{pid}/{pid}", "thread_cpu_cores"): _series(random, 1, 1.0) for pid in pids}
    series["host", "cpu_busy_cores"] = _series(random, 10, 64.0)
    return Window(
        host="bench", start_ns=START, end_ns=START + SECONDS * 10**9, logical_cpus=128,
        gpus=tuple(Gpu(f"gpu:{i}", i, "GPU", (pids[i],), 700.0, 2e9, 5, 16, CELL_NS) for i in range(GPUS)),
        processes=(Process(900, 1, "torchrun"), *(Process(pid, 900, "python train.py") for pid in pids)),
        series=series, stacks=_stacks(random, pids) if with_stacks else None,
    )  # fmt: skip


def _median_ms(run: Callable[[], object], times: int = 5) -> float:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        run()
        taken.append(time.perf_counter() - began)
    return 1e3 * statistics.median(taken)


@pytest.mark.parametrize("with_stacks", [False, True], ids=["counters only", "with stacks"])
def test_ten_minutes_of_eight_gpus(with_stacks: bool, capsys: pytest.CaptureFixture[str]) -> None:
    window = ten_minutes(with_stacks=with_stacks)
    verdict = diagnose(window)
    took = _median_ms(lambda: diagnose(window))
    rows = 0 if window.stacks is None else window.stacks.times.size
    with capsys.disabled():
        print(f"\ndiagnose: {SECONDS} s of {GPUS} GPUs at 10 Hz, {rows} thread samples: {took:.0f} ms (aim: 500)")
    assert sum(row.share for row in verdict.ledger) == pytest.approx(1.0)


@pytest.mark.cases
def test_each_recording_with_start_up(capsys: pytest.CaptureFixture[str]) -> None:
    folders = sorted(path.parent for path in CASES.glob("*/truth.json"))
    if not folders:
        pytest.skip("no recorded cases beside the project")
    words = [sys.executable, "-m", "gapscope_backend.cli.main", "explain", "--json"]
    taken = {}
    for folder in folders[::4]:
        began = time.perf_counter()
        answer = subprocess.run([*words, str(folder)], capture_output=True, check=True)
        taken[folder.name] = time.perf_counter() - began
        assert answer.stdout
    with capsys.disabled():
        print("".join(f"\nexplain {name}: {seconds:.2f} s with start-up (aim: 2)" for name, seconds in taken.items()))
